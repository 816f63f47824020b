#include "eval_frame/unraised.h"

#include <utility>

#include "eval_frame/capture_report.h"
#include "eval_frame/counters.h"
#include "eval_frame/internal_work.h"
#include "eval_frame/running_stack.h"

namespace md {

void report_unraised(RegionEntry& left, const Bytecode& innermost) {
  InternalWork internal_work;
  CapturedRegion& region = left.region;
  const GraphBreak found = *region.if_unraised;
  emit_graph_break({left.code_id, left.id}, found, left.breaks_are_errors);
  if (left.breaks_are_errors) raise_unsupported(found);
  ++counters().graph_breaks;
  region.exit = ExitKind::Break;
  region.graph_break = std::exchange(region.if_unraised, std::nullopt);
  log_graph_break(found, [&] { return running_stack(innermost, region.snapshot.frames.size() - 1); });
}

}  // namespace md
