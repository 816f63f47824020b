#include "symbolic/effects/host_call_sites.h"

#include <algorithm>

#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/exit/region_finisher.h"

namespace md {

bool may_call_out(const Walk& walk) {
  if (walk.effects().any() || walk.entry().has_returned() || walk.builder().modes_changed()) return false;
  return std::ranges::none_of(walk.frames(), [](const auto& frame) { return catches(*frame->bytecode, frame->index); });
}

bool may_describe_failure(const Walk& walk) {
  // In a caller's frame that the region has returned to, there is no telling which frame the exception belongs to; what C code
  // calls from inside an instruction belongs to that, unless it is caught before.
  if (walk.entry().has_returned()) return false;
  if (walk.pending().empty()) return !walk.is_inside_instruction();
  return std::none_of(walk.frames().begin() + static_cast<std::ptrdiff_t>(walk.pending().outermost().depth),
                      walk.frames().end(), [](const auto& frame) { return catches(*frame->bytecode, frame->index); });
}

size_t described_frames(const Walk& walk) {
  return walk.pending().empty() ? walk.frames().depth() : walk.pending().outermost().depth;
}

int add_call_out_site(Walk& walk, std::vector<ValueRef>& locals, std::vector<ValueRef>* failure) {
  CallOutSite site;
  if (failure != nullptr) {
    const std::vector<ValuePtr>& before =
        walk.pending().empty() ? walk.frames().stack_before() : walk.pending().outermost().stack;
    site.failure = RegionFinisher(walk).describe_failure(before, *failure);
  }
  site.locals = RegionFinisher(walk).describe_locals(locals);
  add_frames(walk, site);
  return walk.outputs().add_call_out(std::move(site));
}

void add_frames(const Walk& walk, CallOutSite& site) {
  for (const auto& each : walk.frames()) {
    if (each->names) graph_break(BreakReason::class_definition, "a call inside that may look at its frames");
    if (each->locals) graph_break(BreakReason::frame_inspection, "a call that may look at the frame after locals()");
    CallOutFrame frame{each->bytecode->code(), nullptr, false, each->index, -1};
    ValuePtr function = each->function;
    while (auto* made = as<FunctionValue>(function)) {
      frame.made_here = true;
      function = made->globals_from;
    }
    if (auto* known = as<ObjectValue>(function)) frame.function = known->source;
    for (int i = 0; i < each->bytecode->size(); ++i) {
      Opcode op = (*each->bytecode)[i].op;
      if (op == Opcode::RETURN_VALUE || op == Opcode::RETURN_CONST) frame.return_index = i;
    }
    site.frames.push_back(frame);
  }
}

}  // namespace md
