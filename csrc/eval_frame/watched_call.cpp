#include "eval_frame/watched_call.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "cpython/errors.h"
#include "cpython/text.h"
#include "eval_frame/counters.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/graph_break.h"

namespace md {
namespace {

std::string place_text(const SourceLine& line) { return str_cat(line.file, ":", line.line); }

// At the line of the compiled function, however deep the break is.
std::string break_text(const GraphBreak& found) {
  std::string text = break_row(found.reason).title;
  if (!found.context.empty()) text += str_cat(" (", found.context, ")");
  return found.user_stack.empty() ? text : str_cat(text, " at ", place_text(found.user_stack.front()));
}

// The program knows of these.
constexpr BreakReason kAskedFor[] = {BreakReason::graph_break_call, BreakReason::skip_frame_call,
                                     BreakReason::step_unsupported_call, BreakReason::disabled_call,
                                     BreakReason::disabled_frame_call};

bool is_told(const RegionEntry& entry) {
  if (!entry.region.graph_break) return false;
  BreakReason reason = entry.region.graph_break->reason;
  return !break_row(reason).silent && std::ranges::find(kAskedFor, reason) == std::end(kAskedFor);
}

// Empty: nothing was there to capture.
std::string reason_of(std::span<const CaptureRecord> captures, std::span<const LoopDecision> loops) {
  auto broken = std::ranges::find_if(captures, [](const CaptureRecord& each) { return is_told(*each.entry); });
  if (broken != captures.end()) return break_text(*broken->entry->region.graph_break);
  auto left = std::ranges::find(loops, LoopFate::Python, &LoopDecision::fate);
  if (left != loops.end()) return str_cat("the loop at ", place_text(left->place), ": ", left->why);
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
