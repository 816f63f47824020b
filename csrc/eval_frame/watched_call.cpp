#include "eval_frame/watched_call.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "cpython/errors.h"
#include "cpython/text.h"
#include "eval_frame/counters.h"
#include "symbolic/breaks/graph_break.h"

namespace md {
namespace {

// At the line of the compiled function, however deep the break is.
std::string break_text(const GraphBreak& found) {
  std::string text = break_row(found.reason).title;
  if (!found.context.empty()) text += str_cat(" (", found.context, ")");
  return found.user_stack.empty() ? text : str_cat(text, " at ", file_and_line(found.user_stack.front()));
}

bool is_told(const RegionEntry& entry) {
  return entry.region.graph_break && break_row(entry.region.graph_break->reason).kind == BreakKind::Found;
}

// Empty: nothing was there to capture.
std::string reason_of(std::span<const CaptureRecord> captures, std::span<const LoopDecision> loops) {
  auto broken = std::ranges::find_if(captures, [](const CaptureRecord& each) { return is_told(*each.entry); });
  if (broken != captures.end()) return break_text(*broken->entry->region.graph_break);
  auto left = std::ranges::find(loops, LoopFate::Python, &LoopDecision::fate);
  if (left != loops.end()) return str_cat("the loop at ", file_and_line(left->place), ": ", left->why);
  bool computes =
      std::ranges::any_of(captures, [](const CaptureRecord& each) { return each.entry->region.graph->op_count() > 0; });
  return computes ? "what it computes costs Python less than a graph" : "";
}

}  // namespace

WatchedCall::WatchedCall() : plans_before_(counters().plans_run), suppressed_before_(counters().captures_suppressed) {}

bool WatchedCall::has_run_plan() const {
  auto has_plan = [](const CaptureRecord& each) { return each.entry->plan != nullptr; };
  return counters().plans_run != plans_before_ || std::ranges::any_of(captures_.records(), has_plan);
}

void WatchedCall::report(BorrowedRef function) const {
  if (captures_.records().empty() || has_run_plan()) return;
  if (counters().captures_suppressed != suppressed_before_) return;  // a warning says so
  std::string reason = reason_of(captures_.records(), loops_.records());
  if (reason.empty()) return;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()));
  log_warning(str_cat("minidynamo captured nothing in ", text_of(code->co_qualname), " (", text_of(code->co_filename),
                      ":", code->co_firstlineno, "), which runs as Python: ", reason));
}

}  // namespace md
