#include "symbolic/trace/tracer.h"
#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/state/region.h"
#include "symbolic/trace/outermost_frame.h"

#include <algorithm>
#include <atomic>

#include "base/config.h"
#include "cpython/text.h"
#include "guards/constants.h"
#include "guards/wrapper_callables.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/finalizers.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/exit/region_finisher.h"
#include "symbolic/state/deferred_output.h"
#include "symbolic/tensors/traced_calls.h"
#include "symbolic/trace/endings.h"
#include "symbolic/trace/loops.h"
#include "symbolic/values/key_proxy.h"
#include "symbolic/values/value_cycles.h"
#include "tensor/dim_table.h"

namespace md {

namespace {

std::atomic<uint64_t> traces{0};

// Whether the region ends at a loop that is not unrolled, or whose iterator was there before. Under fullgraph the
// latter is a break.
bool is_at_loop(const Tracer& tracer, const GraphBreak& found) {
  if (found.reason == BreakReason::call_out) return LoopScope::current().ends_at(tracer.step_number());
  const SymbolicFrame& frame = tracer.frames().innermost();
  return found.reason == BreakReason::opaque_iterator && !tracer.frames().root().policy->fullgraph &&
         frame.bytecode->is_loop_head(frame.index);
}

}  // namespace

Tracer::Tracer(const TraceStart& start, const RestartSignal* restart, const TraceChoices& choices)
    : number_(++traces),
      restart_(restart),
      choices_(choices),
      entry_(start),
      values_(start, classes_),
      shapes_(!config().assume_static_by_default),
      effects_(values_, keys_),
      builder_(values_, frames_) {
  if (choices.unites_tensors) values_.unite_tensors();
  graph().keep_histories(choices.keeps_histories);
  start_root(*this);
}

Tracer::~Tracer() {
  // A generator may be referenced by its own frame: breaks that cycle.
  for (const Handle<IteratorValue>& generator : pending_.generators()) generator->frame.reset();
  std::vector<ValuePtr> reached = frames_.handled();
  for (const auto& frame : frames_)
    for (const auto* values : {&frame->slots, &frame->stack})
      reached.insert(reached.end(), values->begin(), values->end());
  effects_.add_reached(reached);
  classes_.add_reached(reached);
  reached.push_back(result_);
  break_cycles(std::move(reached));
  classes_.clear();
}

CapturedRegion Tracer::run() {
  ShapeGuardScope scope(&shapes_);
  while (!finished_) {
    SymbolicFrame& current = frames_.innermost();
    bool is_root = frames_.depth() == 1;
    current.index = current.next;
    frames_.note_stack();
    instruction_step_ = steps_ + 1;
    builder_.gradient_runs().enter_step(instruction_step_);
    instruction_depth_ = frames_.depth();
    advanced_ = false;
    Extent before = extent();
    try {
      step();
      if (is_root && !entry_.watched().empty() && !finished_) check_dropped(*this);
    } catch (const WorklessSignal& signal) {
      return give_up(signal);
    } catch (const BreakSignal& signal) {
      return end_at_break(signal, before);
    } catch (const RaiseSignal& signal) {
      if (!signal.exception || !unwind(*this, signal.exception, 0)) return end_at_raise(signal, before);
    }
  }
  return finish(ExitKind::Return, std::nullopt);
}

Tracer::Extent Tracer::extent() const {
  return {graph().nodes().size(),       builder_.inputs().size(), effects_.log().size(),   outputs_.queued().size(),
          outputs_.host_calls().size(), values_.guards().size(),  shapes_.relation_count()};
}

EndingFacts Tracer::ending_facts(const Extent& before) {
  EndingFacts facts;
  facts.is_inside = is_inside_instruction();
  facts.has_appended = extent() != before;
  facts.in_ours = frames_.first_of_ours() != nullptr;
  facts.in_stricter = frames_.first_stricter() > 0;
  facts.inlined = frames_.depth() > 1;
  facts.nests = frames_.may_nest();
  facts.fullgraph = frames_.innermost().policy->fullgraph;
  facts.breaks_are_errors = frames_.innermost().policy->breaks_are_errors();
  return facts;
}

CapturedRegion Tracer::end_at_break(const BreakSignal& signal, const Extent& before) {
  GraphBreak found{signal.reason, signal.context, signal.explanation, frames_.user_stack(),
                   opcode_gloss(frames_.bytecode()[frames_.innermost().index].op)};
  if (signal.leaves_frame) return leave(std::move(found));
  bool restarted = ends_below_restart();
  if (restarted && !restart_->graph_break.user_stack.empty()) found.user_stack = restart_->graph_break.user_stack;
  EndingFacts facts = ending_facts(before);
  facts.breaks = true;
  facts.skips = signal.reason == BreakReason::skip_frame_call && !restarted;
  CapturedRegion region = carry_out(decide_ending(facts), std::move(found));
  region.skips_frame = facts.skips;
  region.rest_uncaptured = signal.reason == BreakReason::step_unsupported_call && !restarted;
  return region;
}

CapturedRegion Tracer::end_at_raise(const RaiseSignal& signal, const Extent& before) {
  InstanceValue* exception = signal.exception ? exception_of(signal.exception) : nullptr;
  Raised raised{};
  raised.first_step = exception != nullptr ? exception->exception->raised_step : 0;
  EndingFacts facts = ending_facts(before);
  facts.raised_before = raised.first_step != 0;
  if (is_at_restart()) {
    raised.if_unraised = restart_->if_unraised;
  } else if (!facts.raised_before && !(facts.is_inside && may_be_caught_inside())) {
    raised.if_unraised = unraised(signal);
  }
  return carry_out(decide_ending(facts), {BreakReason::call_out, "", "", {}, ""}, std::move(raised));
}

GraphBreak Tracer::unraised(const RaiseSignal& signal) const {
  return {BreakReason::unraised, signal.why, "", frames_.user_stack(),
          opcode_gloss(frames_.bytecode()[frames_.innermost().index].op)};
}

bool Tracer::may_be_caught_inside() const {
  if (pending_.catches()) return true;
  for (size_t depth = instruction_depth_; depth < frames_.depth(); ++depth)
    if (catches(*frames_[depth].bytecode, frames_[depth].index)) return true;
  return false;
}

CapturedRegion Tracer::carry_out(Ending ending, GraphBreak found, Raised raised, bool in_generator) {
  const EndingRow& row = ending_row(ending);
  RestartSignal again{0, std::move(found), frames_.innermost().policy};
  again.if_unraised = raised.if_unraised;
  size_t callee = 0;  // index of the frame whose call the region ends before
  switch (row.place) {
    case EndPlace::Here: {
      frames_.innermost().stack = frames_.stack_before();
      if (ending != Ending::Raise) return finish(ExitKind::Break, std::move(again.graph_break));
      CapturedRegion region = finish(ExitKind::Raise, std::nullopt);
      region.if_unraised = std::move(raised.if_unraised);
      return region;
    }
    case EndPlace::ThisStep:
      again.step = steps_;
      again.is_own = true;
      again.raises = !row.is_reported;
      throw again;
    case EndPlace::Instruction:
      if (row.is_reported) end_before_instruction(std::move(again.graph_break), in_generator);
      again.step = instruction_step_;
      break;
    case EndPlace::FirstRaise:
      again.step = raised.first_step;
      break;
    case EndPlace::OurCall:
      again.step = frames_.first_of_ours()->entry_step;
      break;
    case EndPlace::InnermostCall:
      callee = frames_.depth() - 1;
      break;
    case EndPlace::OutermostCall:
      callee = 1;
      break;
    case EndPlace::StricterCall:
      callee = frames_.first_stricter();
      break;
  }
  if (callee > 0) again.step = frames_[callee].entry_step;
  if (row.policy == EndPolicy::Callers) again.policy = frames_[callee - 1].policy;
  if (row.is_reported) {
    again.in_generator = in_generator || (ends_below_restart() && restart_->in_generator);
  } else {
    again.graph_break = {BreakReason::call_out, again.graph_break.context, "", {}, ""};
  }
  throw again;
}

// Decides at once what the repeated trace would decide at the instruction, so that no third trace is needed.
void Tracer::end_before_instruction(GraphBreak found, bool in_generator) {
  RestartSignal again{instruction_step_, std::move(found), frames_.innermost().policy, in_generator};
  if (frames_.depth() < instruction_depth_) throw again;
  frames_.cut(instruction_depth_);
  EndingFacts facts = ending_facts(extent());
  facts.breaks = true;
  facts.is_inside = false;
  Ending ending = decide_ending(facts);
  if (ending_row(ending).place != EndPlace::Here) carry_out(ending, std::move(again.graph_break), {}, in_generator);
  throw again;
}

void Tracer::end_silently_before(int64_t step) {
  throw RestartSignal{step, {BreakReason::call_out, "", "", {}, ""}, frames_.innermost().policy};
}

void Tracer::end_silently_before(const RaiseSignal& signal) {
  RestartSignal again{instruction_step_, {BreakReason::call_out, "", "", {}, ""}, frames_.innermost().policy};
  if (!signal.exception && !may_be_caught_inside()) again.if_unraised = unraised(signal);
  throw again;
}

void Tracer::check_limits(const Instruction& instruction) {
  int64_t stress = config().snapshot_stress, limit = config().walk_limit;
  bool prologue = instruction.op == Opcode::MAKE_CELL || instruction.op == Opcode::COPY_FREE_VARS ||
                  instruction.op == Opcode::RESUME;
  if (stress > 0 && steps_ > stress && !prologue) graph_break(BreakReason::snapshot_stress);
  bool ends_well = instruction.op == Opcode::JUMP_BACKWARD || instruction.op == Opcode::CALL;
  if (steps_ > limit && (ends_well || steps_ > 2 * limit))
    graph_break(BreakReason::walk_limit, str_cat("after ", steps_, " instructions"));
  work_.check(*this);
  if ((steps_ & 0xfff) == 0) check_status(PyErr_CheckSignals());
}

void Tracer::step() {
  SymbolicFrame& current = frames_.innermost();
  const Instruction& instruction = (*current.bytecode)[current.index];
  ++steps_;
  ++current.begun;
  saw_error_on_graph_break_ = saw_error_on_graph_break_ || current.policy->error_on_graph_break;
  forget_differences();
  if (restart_ != nullptr && steps_ == restart_->step) {
    if (restart_->raises) throw RaiseSignal{};
    const GraphBreak& found = restart_->graph_break;
    throw BreakSignal{found.reason, found.context, found.explanation};
  }
  check_limits(instruction);
  bool ends_well = false;
  if (current.bytecode->is_loop_head(current.index)) {
    EndingFacts facts = ending_facts(extent());
    facts.breaks = true;
    ends_well = ending_row(decide_ending(facts)).place == EndPlace::Here;
  }
  LoopScope::current().before_step(*this, instruction, ends_well);
  OpcodeHandler handler = opcode_handler(instruction.op);
  if (handler == nullptr) graph_break(BreakReason::unsupported_opcode, opcode_name(instruction.op));
  current.next = current.index + 1;
  if (trace_.on()) trace_.before(*this, instruction);
  bool went_back = frames_.has_back_edge(), is_root = frames_.depth() == 1;
  int from = current.index;
  try {
    handler(*this, instruction);
  } catch (const PythonError&) {
    if (!take_unasked_comparison()) throw;
    graph_break(BreakReason::unhashable_key, "a key with its own equality");
  }
  // The loop of `yield from` in an outer generator is no loop of the program: the innermost generator does the work.
  if (instruction.op == Opcode::JUMP_BACKWARD && instruction.arg2 != 0) frames_.set_back_edge(went_back);
  if (is_root && frames_.depth() == 1) work_.note_jump(*frames_.root().bytecode, from, frames_.root().next);
  if (trace_.on()) trace_.after(*this);
}

void Tracer::finish_with(ValuePtr result) {
  result_ = std::move(result);
  finished_ = true;
}

CapturedRegion Tracer::finish(ExitKind exit, std::optional<GraphBreak> found) {
  const Policy* break_policy = frames_.innermost().policy;
  int repeated_records = 0;
  if (found && is_at_loop(*this, *found)) {
    exit = ExitKind::Loop;
    found.reset();
  }
  if (found && ends_below_restart()) {
    if (!restart_->graph_break.user_stack.empty()) found->user_stack = restart_->graph_break.user_stack;
    break_policy = restart_->policy;
    repeated_records = calls_wrapper() ? 1 : 0;
  }
  CapturedRegion region = RegionFinisher(*this).finish({exit, std::move(found), result_, restart_});
  if (exit == ExitKind::Break && is_at_restart()) region.if_unraised = restart_->if_unraised;
  region.is_strict_inside = saw_error_on_graph_break_;
  region.break_policy = break_policy;
  region.instructions = steps_ - 1;
  region.goes_back = frames_.has_back_edge();
  region.repeated_records = repeated_records;
  return region;
}

// Returns true if the current call of the outermost frame goes through a wrapper that counts as a frame of its own.
bool Tracer::calls_wrapper() {
  for (const ValuePtr& value : frames_.innermost().stack) {
    if (value->kind == ValueKind::PolicyFunction) return true;
    auto* object = as<ObjectValue>(value);
    const WrapperType* wrapper = object != nullptr ? find_wrapper_type(object->object.type()) : nullptr;
    if (wrapper != nullptr && wrapper->counts_as_frame) return true;
  }
  return false;
}

// The guards met so far decide when the frame is left again.
CapturedRegion Tracer::leave(GraphBreak found) {
  CapturedRegion region;
  region.graph = std::make_shared<Graph>();
  region.exit = ExitKind::Bailout;
  region.break_policy = frames_.innermost().policy;
  region.instructions = steps_;
  region.graph_break = std::move(found);
  region.guards = std::move(values_.guards());
  return region;
}

CapturedRegion Tracer::give_up(const WorklessSignal& signal) const {
  CapturedRegion region;
  region.graph = std::make_shared<Graph>();
  region.exit = ExitKind::Bailout;
  region.break_policy = entry_.start().policy;
  region.instructions = steps_;
  region.workless = signal.stretch;
  return region;
}

CapturedRegion capture_region(const TraceStart& start, bool ends_at_loops) {
  fill_late_call_registry();
  DimTableScope dims;
  ConstantResults constant_results;
  std::optional<RestartSignal> restart;
  TraceChoices choices;
  LoopScope loops(start, ends_at_loops);
  for (;;) {
    loops.begin_trace();
    Tracer tracer(start, restart ? &*restart : nullptr, choices);
    try {
      CapturedRegion region = tracer.run();
      region.graph->keep_dims(dims.table());
      loops.report(region.workless.has_value());
      return region;
    } catch (const RestartSignal& signal) {
      // The break is inside a call that cannot be interrupted: trace again and end before that call.
      restart = signal;
      choices.keeps_histories = tracer.graph().keeps_histories();
    } catch (const DeclinedSignal& signal) {
      choices.declined.insert(signal.site);
    } catch (const RefusedPartsSignal& signal) {
      choices.declined.insert(signal.sites.begin(), signal.sites.end());
    } catch (const SharedTensorSignal&) {
      choices.unites_tensors = true;
    }
  }
}

}  // namespace md
