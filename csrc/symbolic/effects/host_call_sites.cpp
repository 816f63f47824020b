#include "symbolic/effects/host_call_sites.h"

#include <algorithm>

#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/exit/region_finisher.h"

namespace md {

bool may_call_host(const Tracer& tracer) {
  if (tracer.effects().any() || tracer.entry().has_returned() || tracer.builder().modes_changed()) return false;
  return std::ranges::none_of(tracer.frames(),
                              [](const auto& frame) { return catches(*frame->bytecode, frame->index); });
}

bool may_describe_failure(const Tracer& tracer) {
  // After the region has returned to a caller, the exception cannot be attributed to a frame. Inside a pending call of
  // C code it belongs to the instruction that made that call, unless it is caught before.
  if (tracer.entry().has_returned()) return false;
  if (tracer.pending().empty()) return !tracer.is_inside_instruction();
  return std::none_of(tracer.frames().begin() + static_cast<std::ptrdiff_t>(tracer.pending().outermost().depth),
                      tracer.frames().end(), [](const auto& frame) { return catches(*frame->bytecode, frame->index); });
}

size_t described_frames(const Tracer& tracer) {
  return tracer.pending().empty() ? tracer.frames().depth() : tracer.pending().outermost().depth;
}

int add_host_call_site(Tracer& tracer, std::vector<ValueRef>& locals, std::vector<ValueRef>* failure,
                       bool shows_locals) {
  HostCallSite site;
  if (failure != nullptr) {
    const std::vector<ValuePtr>& before =
        tracer.pending().empty() ? tracer.frames().stack_before() : tracer.pending().outermost().stack;
    site.failure = RegionFinisher(tracer).describe_failure(before, *failure);
  }
  if (shows_locals)
    site.locals = RegionFinisher(tracer).describe_locals(locals);
  else
    site.locals.frames.resize(tracer.frames().depth());
  add_frames(tracer, site);
  return tracer.outputs().add_host_call(std::move(site));
}

void add_frames(const Tracer& tracer, HostCallSite& site) {
  for (const auto& each : tracer.frames()) {
    if (each->names) graph_break(BreakReason::class_definition, "a call inside that may look at its frames");
    if (each->locals) graph_break(BreakReason::frame_inspection, "a call that may look at the frame after locals()");
    HostCallFrame frame{each->bytecode->code(), nullptr, false, each->index, -1};
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
