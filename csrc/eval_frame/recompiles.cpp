#include "eval_frame/recompiles.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "cpython/errors.h"
#include "cpython/imports.h"
#include "eval_frame/region_entry.h"
#include "symbolic/graph_break.h"

namespace md {

namespace {

std::string function_place(const Bytecode& bytecode) {
  PyCodeObject* code = bytecode.code();
  return str_cat(PyUnicode_AsUTF8(code->co_filename), ":", code->co_firstlineno);
}

std::string reason_of(const CodeCache& cache, const CacheEntry& entry, const LocalsView& view,
                      const Bytecode& bytecode) {
  return str_cat(cache.frame_id(), "/", entry.id, ": ", entry.guards.explain(view, bytecode));
}

[[noreturn]] void raise_limit_hit(const std::string& text) {
  Ref type = imported("minidynamo._dynamo.exc", "FailOnRecompileLimitHit");
  PyErr_SetString(type, text.c_str());
  throw PythonError();
}

}  // namespace

std::vector<std::string> failing_guards(const CodeCache& cache, const CacheKey& key, const LocalsView& view,
                                        const Bytecode& bytecode) {
  std::vector<std::string> reasons;
  for (const CacheEntryPtr& entry : cache.entries(key)) {
    std::string reason = entry->guards.explain(view, bytecode);
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(std::move(reason));
  }
  return reasons;
}

void log_recompile(const CodeCache& cache, const CacheKey& key, const LocalsView& view, const Bytecode& bytecode) {
  std::string text = str_cat("Recompiling function ", PyUnicode_AsUTF8(bytecode.code()->co_name), " in ",
                             function_place(bytecode), "\n    triggered by the following guard failure(s):");
  for (const CacheEntryPtr& entry : cache.entries(key)) text += "\n    - " + reason_of(cache, *entry, view, bytecode);
  log_event(LogArtifact::recompiles, text);
}

void report_limit(CodeCache& cache, const CacheKey& key, const LocalsView& view, const Bytecode& bytecode,
                  const Policy& policy, int limit) {
  std::vector<CacheEntryPtr> entries = cache.entries(key);
  std::string reason = entries.empty() ? "" : reason_of(cache, *entries.front(), view, bytecode);
  std::string text =
      str_cat("minidynamo hit config.recompile_limit (", limit, ")\n   function: '",
              PyUnicode_AsUTF8(bytecode.code()->co_name), "' (", function_place(bytecode),
              ")\n   last reason: ", reason, "\nTo log all recompilation reasons, use MINIDYNAMO_LOGS=\"recompiles\".");
  if (policy.fullgraph) raise_limit_hit(text);
  if (policy.breaks_are_errors()) {
    GraphBreak found{BreakReason::recompile_limit, text, "", {}, ""};
    found.user_stack.push_back({PyUnicode_AsUTF8(bytecode.code()->co_filename), bytecode.line_at(key.instruction),
                                PyUnicode_AsUTF8(bytecode.code()->co_name)});
    raise_unsupported(found);
  }
  // A function in which no operation was met loses nothing.
  std::vector<CacheEntryPtr> all = cache.all_entries();
  auto met_operations = [](const CacheEntryPtr& entry) {
    return static_cast<const RegionEntry&>(*entry).region.met_operations;
  };
  if (std::any_of(all.begin(), all.end(), met_operations) && cache.first_warning(key)) log_warning(text);
}

}  // namespace md
