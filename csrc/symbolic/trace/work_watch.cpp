#include "symbolic/trace/work_watch.h"

#include <algorithm>

#include "base/config.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

// Instructions that a trace may take in vain: until the graph's first node, and between two. At least, and as a share
// of config.walk_limit.
constexpr int64_t kStepsToFirstNode = 10'000, kStepsToNextNode = 40'000, kShareOfLimit = 100;

}  // namespace

// Where breaks are errors, a graph is whole or an error: the program has asked for what the trace takes.
std::optional<int64_t> vain_limit(const Tracer& tracer) {
  const Policy& policy = *tracer.frames().innermost().policy;
  if (policy.breaks_are_errors() || policy.keeps_empty_regions || config().snapshot_stress != 0) return std::nullopt;
  int64_t share = config().walk_limit / kShareOfLimit;
  if (tracer.graph().nodes().empty()) return std::max(share, kStepsToFirstNode);
  return std::max(4 * share, kStepsToNextNode);
}

bool may_be_given_up(const Tracer& tracer) { return tracer.graph().nodes().empty() && vain_limit(tracer).has_value(); }

void WorkWatch::note_jump(const Bytecode& bytecode, int from, int to) {
  if (to > from) return;
  loops_.cover(to, bytecode.cold_start());
  loops_.cover(from, bytecode.cold_start());
}

void WorkWatch::check(const Tracer& tracer) {
  size_t nodes = tracer.graph().nodes().size();
  if (nodes != nodes_seen_) {
    nodes_seen_ = nodes;
    last_node_step_ = tracer.step_number();
  }
  int64_t in_vain = tracer.step_number() - last_node_step_;
  if (in_vain < kStepsToFirstNode) return;
  std::optional<int64_t> limit = vain_limit(tracer);
  if (!limit || in_vain < *limit) return;
  if (nodes > 0) graph_break(BreakReason::no_work, str_cat("for ", in_vain, " instructions"));
  const TraceStart& start = tracer.entry().start();
  // Behind the region's own frame: all that is left of that.
  if (tracer.entry().has_returned()) throw WorklessSignal{{start.index, start.bytecode.size() - 1}};
  Stretch stretch = loops_;
  stretch.cover(start.index, start.bytecode.cold_start());
  stretch.cover(tracer.frames().root().index, start.bytecode.cold_start());
  throw WorklessSignal{stretch};
}

}  // namespace md
