#include "eval_frame/recompiles.h"

#include <algorithm>
#include <functional>

#include "base/config.h"
#include "base/error.h"
#include "base/log.h"
#include "cpython/errors.h"
#include "cpython/imports.h"
#include "cpython/text.h"
#include "eval_frame/capture_report.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/graph_break.h"

namespace md {

namespace {

std::string function_place(const Bytecode& bytecode) {
  PyCodeObject* code = bytecode.code();
  return str_cat(text_of(code->co_filename), ":", code->co_firstlineno);
}

std::string id_of(const CodeCache& cache, const CacheEntry& entry) {
  return CaptureId{cache.frame_id(), entry.id}.text();
}

std::string reason_of(const CodeCache& cache, const CacheEntry& entry, const RegionPlace& place) {
  return str_cat(id_of(cache, entry), ": ", entry.guards.explain(place.view, place.bytecode));
}

[[noreturn]] void raise_as(const char* exception, const std::string& text) {
  Ref type = imported("minidynamo._dynamo.exc", exception);
  PyErr_SetString(type, text.c_str());
  throw CaptureError();
}

std::string headline(const RegionPlace& place) {
  return str_cat("Recompiling function ", text_of(place.bytecode.code()->co_name), " in ",
                 function_place(place.bytecode));
}

SourceLine line_of(const RegionPlace& place) {
  PyCodeObject* code = place.bytecode.code();
  return {text_of(code->co_filename), place.bytecode.line_at(place.index), text_of(code->co_name)};
}

// The user's stack down to the captured frames only: compiled code may have any number of callers.
std::string user_stack_lines(const RegionPlace& place, const char* prefix) {
  const SourceLine line = line_of(place);
  std::string text, lines = format_stack({&line, 1});
  for (size_t at = 0; at < lines.size();) {
    size_t end = lines.find('\n', at);
    text += str_cat(prefix, lines.substr(at, end - at), "\n");
    at = end + 1;
  }
  return text;
}

// All failing guards, by entry.
std::string verbose_lines(const CodeCache& cache, const CacheKey& key, const RegionPlace& place) {
  std::string text;
  for (const CacheEntryPtr& entry : cache.entries(key)) {
    text += str_cat("\n    guard ", entry->id, " failures:");
    for (const std::string& reason : entry->guards.explain_all(place.view, place.bytecode))
      text += str_cat("\n    - ", id_of(cache, *entry), ": ", reason);
  }
  return text;
}

std::string recompile_text(const CodeCache& cache, const CacheKey& key, const RegionPlace& place) {
  return str_cat(headline(place),
                 "\n    triggered by the following guard failure(s):", failure_lines(cache, key, place));
}

std::string failures_json(const CodeCache& cache, const CacheKey& key, const RegionPlace& place) {
  std::string list;
  for (const CacheEntryPtr& entry : cache.entries(key)) {
    list += list.empty() ? "" : ", ";
    list += JsonObject()
                .add("compile_id", id_of(cache, *entry))
                .add("guard", entry->guards.explain(place.view, place.bytecode))
                .add("all", entry->guards.explain_all(place.view, place.bytecode))
                .text();
  }
  return "[" + list + "]";
}

// Counts the guard of the newest entry: the others failed for earlier ones.
void count(CodeCache& cache, const CacheKey& key, const RegionPlace& place) {
  std::vector<CacheEntryPtr> entries = cache.entries(key);
  if (!entries.empty()) cache.count_failure(key, entries.front()->guards.failing(place.view, place.bytecode));
}

// Most frequent first.
std::vector<std::pair<std::string, int>> sorted(const CodeCache::FailureCounts& counts) {
  std::vector<std::pair<std::string, int>> rows(counts.begin(), counts.end());
  std::ranges::stable_sort(rows, std::ranges::greater(), &std::pair<std::string, int>::second);
  return rows;
}

std::string counts_json(const CodeCache::FailureCounts& counts) {
  JsonObject object;
  for (const auto& [guard, times] : sorted(counts)) object.add(guard, times);
  return object.text();
}

std::string limit_text(const CodeCache& cache, const CacheKey& key, const RegionPlace& place,
                       const ReachedLimit& reached) {
  std::vector<CacheEntryPtr> entries = cache.entries(key);
  std::string text = str_cat(
      "minidynamo hit config.", reached.flag, " (", reached.limit, ")\n   function: '",
      text_of(place.bytecode.code()->co_name), "' (", function_place(place.bytecode),
      ")\n   last reason: ", entries.empty() ? "captures of other policies" : reason_of(cache, *entries.front(), place),
      "\n   guards that kept failing:\n");
  for (const auto& [guard, times] : sorted(cache.failure_counts(key)))
    text += str_cat("   ", times, times == 1 ? " time: " : " times: ", guard, "\n");
  return str_cat(text, "User stack trace:\n", user_stack_lines(place, ""),
                 "To log all recompilation reasons, use MINIDYNAMO_LOGS=\"recompiles\".\n"
                 "To diagnose recompilation issues, see docs/troubleshooting.md");
}

// A capture of this place contains a block or function that allows no breaks: Python would run it too.
bool is_strict_inside(const CodeCache& cache, const CacheKey& key) {
  return std::ranges::any_of(cache.entries(key), [](const CacheEntryPtr& entry) {
    return static_cast<const RegionEntry&>(*entry).region.is_strict_inside;
  });
}

bool met_operations(const CodeCache& cache) {
  return std::ranges::any_of(cache.all_entries(), [](const CacheEntryPtr& entry) {
    return static_cast<const RegionEntry&>(*entry).region.met_operations;
  });
}

}  // namespace

std::vector<std::string> failing_guards(const CodeCache& cache, const CacheKey& key, const RegionPlace& place) {
  std::vector<std::string> reasons;
  for (const CacheEntryPtr& entry : cache.entries(key)) {
    std::string reason = entry->guards.explain(place.view, place.bytecode);
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(std::move(reason));
  }
  return reasons;
}

std::string failure_lines(const CodeCache& cache, const CacheKey& key, const RegionPlace& place) {
  std::string text;
  for (const CacheEntryPtr& entry : cache.entries(key)) text += "\n    - " + reason_of(cache, *entry, place);
  if (!text.empty()) text += "\n    - User stack trace:\n" + user_stack_lines(place, "    - ");
  if (!text.empty()) text.pop_back();
  return text;
}

void report_recompile(CodeCache& cache, const CacheKey& key, const RegionPlace& place) {
  count(cache, key, place);
  if (config().error_on_recompile) raise_as("RecompileError", recompile_text(cache, key, place));
  if (log_enabled(LogArtifact::recompiles)) log_event(LogArtifact::recompiles, recompile_text(cache, key, place));
  if (log_enabled(LogArtifact::recompiles_verbose)) {
    log_event(
        LogArtifact::recompiles_verbose,
        str_cat(headline(place), "\n    triggered by the following guard failure(s):", verbose_lines(cache, key, place),
                "\n    - User stack trace:\n", user_stack_lines(place, "    - ")));
  }
  if (events_wanted())
    emit_event(EventKind::recompile, {cache.frame_id(), cache.next_entry_id()},
               place_facts(place).add_json("failures", failures_json(cache, key, place)));
}

ReachedLimit reached_limit(const CodeCache& cache, const CacheKey& key, const Policy& policy) {
  int64_t limit = policy.recompile_limit >= 0 ? policy.recompile_limit : config().recompile_limit;
  if (cache.count(key) >= limit) return {"recompile_limit", limit};
  int64_t accumulated = config().accumulated_recompile_limit;
  if (cache.count_under_all_policies(key) >= accumulated) return {"accumulated_recompile_limit", accumulated};
  return {nullptr, 0};
}

void report_limit(CodeCache& cache, const CacheKey& key, const RegionPlace& place, const ReachedLimit& reached) {
  const Policy& policy = *place.policy;
  bool is_strict = policy.breaks_are_errors() || is_strict_inside(cache, key);
  bool is_error = is_strict || config().fail_on_recompile_limit_hit;
  if (cache.is_reported(key) && !is_error && !events_wanted()) return;
  count(cache, key, place);
  if (events_wanted())
    emit_event(EventKind::recompile_limit, {cache.frame_id(), cache.next_entry_id()},
               place_facts(place)
                   .add("flag", reached.flag)
                   .add("limit", reached.limit)
                   .add_json("failures", failures_json(cache, key, place))
                   .add_json("counts", counts_json(cache.failure_counts(key))));
  if (policy.fullgraph || config().fail_on_recompile_limit_hit) {
    const char* why = policy.fullgraph ? "fullgraph=True" : "fail_on_recompile_limit_hit";
    raise_as("FailOnRecompileLimitHit",
             str_cat("Hard failure due to ", why, "\n", limit_text(cache, key, place, reached)));
  }
  if (is_strict) {
    GraphBreak found{BreakReason::recompile_limit, limit_text(cache, key, place, reached), "", {}, ""};
    found.user_stack.push_back(line_of(place));
    raise_unsupported(found);
  }
  // A function without tensor operations loses nothing.
  if (met_operations(cache) && cache.first_warning(key)) log_warning(limit_text(cache, key, place, reached));
  cache.set_told(key);
}

}  // namespace md
