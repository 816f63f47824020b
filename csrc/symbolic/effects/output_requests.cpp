#include "symbolic/effects/output_requests.h"

#include <algorithm>
#include <utility>

#include "base/config.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/host_call_sites.h"
#include "symbolic/exit/region_finisher.h"

namespace md {

namespace {

// Adds to the effects what was written so far but is tracked elsewhere: tensors, cells, modes.
void log_state(Tracer& tracer) {
  for (const auto& base : tracer.builder().written_inputs()) {
    int logged = tracer.outputs().logged_version(base.get());
    if (base->version == logged) continue;
    PendingEffect write{EffectKind::WriteTensor, tracer.values().find(base->source), nullptr, nullptr};
    write.tensor = base->current;
    write.count = base->version - logged - std::exchange(base->uncounted, 0);
    tracer.outputs().set_logged_version(base.get(), base->version);
    tracer.effects().add(std::move(write));
  }
  for (const ValuePtr& cell : tracer.effects().stored_cells())
    tracer.effects().add({EffectKind::SetCell, cell, nullptr, as<CellValue>(cell)->contents});
  for (TracedModes& modes : tracer.builder().all_modes()) {
    modes.for_each_change([&](EffectKind kind, bool flag, int count) {
      PendingEffect change{kind, nullptr, nullptr, nullptr};
      change.family = modes.family;
      change.flag = flag;
      change.count = count;
      tracer.effects().add(std::move(change));
    });
    modes.logged = modes.now;
  }
}

// Returns true if the instruction calls this directly and only pushes the result.
bool calls_directly(Tracer& tracer, BorrowedRef callable) {
  Opcode op = tracer.frames().bytecode()[tracer.frames().innermost().index].op;
  if (op != Opcode::CALL && op != Opcode::CALL_KW && op != Opcode::CALL_FUNCTION_EX) return false;
  return std::ranges::any_of(tracer.frames().stack_before(), [&](const ValuePtr& value) {
    auto* method = as<BoundMethodValue>(value);
    auto* object = as<ObjectValue>(method != nullptr ? method->function : value);
    if (object == nullptr) return false;
    PyObject* known = object->object;
    if (Py_IS_TYPE(known, &PyMethod_Type)) known = PyMethod_GET_FUNCTION(known);
    return known == callable.get();
  });
}

}  // namespace

namespace {

[[noreturn]] void refuse(const OutputRequest& request) { graph_break(request.reason, request.context); }

// What others could reach at the time of the call. `has_after`: the frames continue after it, so that all has to be
// fixed.
void add_reachable(Tracer& tracer, const OutputRequest& request, bool has_after, QueuedOutput& output) {
  auto add = [&](const ValuePtr& part) {
    if ((has_after && !is_fixed(part)) || !add_shown(part, output.shown)) refuse(request);
  };
  for (const PendingEffect& effect : tracer.effects().log()) {
    if (effect.kind == EffectKind::Output) continue;
    std::vector<ValuePtr> parts{effect.value, effect.key};
    // The list of new elements is unobservable, unlike the elements.
    if (effect.kind == EffectKind::ListSplice) parts = as<SequenceValue>(effect.value)->items;
    for (const ValuePtr& part : parts) add(part);
  }
  for (const ValuePtr& cell : tracer.effects().stored_cells()) add(as<CellValue>(cell)->contents);
}

void describe_frames(Tracer& tracer, bool has_after, QueuedOutput& output) {
  HostCallSite& site = output.site.site;
  bool runs_python = output.site.runs_python;
  if (has_after) {
    // Inside a pending call of C code, an exception continues at the instruction that made that call.
    std::vector<ValuePtr> stack =
        tracer.pending().empty() ? tracer.frames().innermost().stack : tracer.pending().outermost().stack;
    if (tracer.pending().empty()) stack.push_back(tracer.values().none());
    RegionFinisher finisher(tracer);
    site.failure = finisher.describe_output(stack, runs_python, output.after);
    output.made_after = finisher.made_values();
    for (const auto& [value, recipe] : output.made_after) add_shown(value, output.frames);
  }
  if (runs_python) {
    RegionFinisher finisher(tracer);
    site.locals = finisher.describe_locals(output.locals);
    output.made_locals = finisher.made_values();
    for (const auto& [value, recipe] : output.made_locals) add_shown(value, output.frames);
  } else {
    site.locals.frames.resize(tracer.frames().depth());
  }
  add_frames(tracer, site);
}

PendingEffect effect_of(Tracer& tracer, const OutputRequest& request) {
  PendingEffect call{EffectKind::Output, tracer.values().constant(request.callable.get()), nullptr, nullptr};
  std::vector<ValuePtr> values = request.args.positional;
  if (!request.args.keywords.empty()) {
    for (const auto& [name, value] : request.args.keywords) values.push_back(value);
    call.key = tracer.values().constant(request.args.keyword_names());
  }
  call.value = make_value<SequenceValue>(false, std::move(values));
  call.start = static_cast<int64_t>(tracer.outputs().queued().size());
  return call;
}

}  // namespace

void queue_output(Tracer& tracer, const OutputRequest& request) {
  if (!config().capture_output) refuse(request);
  // A frame that the region has left cannot be linked: the driver makes the call.
  if (tracer.entry().has_returned()) tracer.end_silently_before(tracer.instruction_step());
  bool is_caught =
      std::ranges::any_of(tracer.frames(), [](const auto& frame) { return catches(*frame->bytecode, frame->index); });
  bool has_after = request.runs_python || is_caught;
  if (!tracer.frames().handled().empty()) refuse(request);
  if (has_after && !may_describe_failure(tracer)) refuse(request);
  bool is_direct = tracer.pending().empty() && calls_directly(tracer, request.callable.get());
  if (request.runs_python && !is_direct) refuse(request);

  QueuedOutput output;
  add_reachable(tracer, request, has_after, output);
  output.step = tracer.instruction_step();
  output.graph_break = {request.reason, request.context, "", tracer.frames().user_stack(), ""};
  output.policy = tracer.frames().innermost().policy;
  output.site.runs_python = request.runs_python;
  describe_frames(tracer, has_after, output);
  log_state(tracer);
  PendingEffect call = effect_of(tracer, request);
  tracer.effects().freeze_deques();
  tracer.effects().add(std::move(call));
  tracer.outputs().add(std::move(output));
}

}  // namespace md
