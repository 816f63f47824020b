#include "symbolic/walk.h"

#include <algorithm>
#include <atomic>

#include "base/config.h"
#include "cpython/text.h"
#include "guards/constants.h"
#include "guards/wrapper_callables.h"
#include "symbolic/endings.h"
#include "symbolic/exceptions.h"
#include "symbolic/key_stand_in.h"
#include "symbolic/outcomes.h"
#include "symbolic/output_queue.h"
#include "symbolic/region_finisher.h"
#include "symbolic/traced_calls.h"
#include "symbolic/value_cycles.h"
#include "tensor/dim_table.h"
#include "tensor/tensor_modes.h"

namespace md {

namespace {

std::atomic<uint64_t> walks{0};

// ['x'] for a local, [0] for a value on the stack.
std::string slot_text(const Bytecode& code, int slot) {
  if (slot >= code.slot_count()) return str_cat("[", slot - code.slot_count(), "]");
  return str_cat("['", text_of(code.slot_name(slot)), "']");
}

const Source* caller_source(SourcePool& sources, const CallerPlace& caller, int slot, const std::string& text) {
  std::string name = str_cat("C['", text_of(caller.bytecode->code()->co_name), "']", text);
  Ref key = check(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  return sources.get(SourceKind::CallerSlot, nullptr, key, slot);
}

}  // namespace

Walk::Walk(const WalkStart& start, const RestartSignal* restart, const OperatorSites& declined)
    : number_(++walks),
      start_(start),
      restart_(restart),
      declined_(declined),
      all_symbolic_(!config().assume_static_by_default),
      graph_(std::make_shared<Graph>()) {
  grad_mode = initial_grad_mode_ = tensor_modes().grad_enabled;
  inference_mode = initial_inference_mode_ = tensor_modes().inference_mode;
  logged_grad_mode_ = grad_mode;
  logged_inference_mode_ = inference_mode;
  start_root();
}

void Walk::start_root() {
  auto frame = std::make_unique<SymbolicFrame>();
  const CallerChain* callers = start_.callers.get();
  frame->bytecode = &start_.bytecode;
  frame->policy = start_.policy;
  frame->index = frame->next = start_.index;
  frame->function = at(sources().function(), Ref::share(start_.view.function));
  callers_slot_ = start_.view.slot_count - (callers != nullptr ? slot_count(*callers) : 0);
  load_slots(*frame, 0, callers_slot_, nullptr);
  if (callers != nullptr) frame->continuation = callers->front().continuation;
  frames_.enter(std::move(frame));
}

ValuePtr Walk::enter_caller() {
  for (const ValuePtr& value : frames_.root().slots) let_go(value);
  auto changed = changed_slots();  // of the frame that returns: the caller's slots come below
  const CallerPlace& caller = (*start_.callers)[returns_.size()];
  auto frame = std::make_unique<SymbolicFrame>();
  frame->bytecode = caller.bytecode;
  frame->policy = caller.policy;
  frame->index = caller.index;
  frame->next = caller.index + 1;
  frame->function = at(caller_source(sources(), caller, callers_slot_, ""));
  MD_ASSERT(frame->function, "a waiting frame without its function");
  frames_.note_entered(caller.bytecode);
  auto* function = as<ObjectValue>(frame->function);
  guards_.code_match(function->source, caller.bytecode->code());
  function->value_guarded = function->type_guarded = true;
  ValuePtr continuation_value = at(caller_source(sources(), caller, callers_slot_ + 1, ".result"));
  load_slots(*frame, callers_slot_ + 2, caller.slot_count() - 2, &caller);
  callers_slot_ += caller.slot_count();
  returns_.push_back({frames_.innermost().index, frames_.innermost().executed(), std::move(changed)});
  if (returns_.size() < start_.callers->size()) frame->continuation = (*start_.callers)[returns_.size()].continuation;
  frames_.replace(std::move(frame));
  return continuation_value;
}

ValuePtr Walk::clear_slot(int slot) {
  ValuePtr& place = frames_.innermost().slots[slot];
  bool was_unset =
      frames_.depth() == 1 && start_.index > 0 && place->kind == ValueKind::Null && place == initial_slots_[slot];
  if (was_unset && !returns_.empty()) end_silently_before(instruction_step_);
  if (was_unset) guards_.absent(sources().local(slot));
  return std::exchange(place, make_value<NullValue>());
}

std::vector<std::pair<int, ValuePtr>> Walk::changed_slots() {
  std::vector<std::pair<int, ValuePtr>> changed;
  const std::vector<ValuePtr>& slots = frames_.root().slots;
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot] == initial_slots_[slot]) continue;
    auto* object = as<ObjectValue>(slots[slot]);
    bool is_constant = object != nullptr && object->source == nullptr && !object->made_class;
    changed.emplace_back(static_cast<int>(slot), is_constant ? slots[slot] : frames_.null());
  }
  return changed;
}

void Walk::load_slots(SymbolicFrame& frame, int first, int count, const CallerPlace* caller) {
  const Bytecode& code = *frame.bytecode;
  int slots = code.slot_count();
  bool has_cells = caller != nullptr || start_.index > 0;
  for (int slot = 0; slot < count; ++slot) {
    BorrowedRef object = start_.view.get(first + slot);
    ValuePtr value = frames_.null();
    auto source_of_slot = [&] {
      return caller != nullptr ? caller_source(sources(), *caller, first + slot, slot_text(code, slot))
                               : sources().local(slot);
    };
    // Below what is called there is its self, or nothing.
    if (!object && slot >= slots) guards_.absent(source_of_slot());
    if (object) {
      const Source* source = source_of_slot();
      bool is_cell = slot < slots && has_cells && code.slot_kind(slot) != SlotKind::Local &&
                     Py_IS_TYPE(object.get(), &PyCell_Type);
      if (is_cell) {
        value = cell_at(source, Ref::share(object));
      } else {
        value = at(source, Ref::share(object));
        if (auto* known = as<ObjectValue>(value)) known->opaque_iterator = slot >= slots && PyIter_Check(object.get());
      }
    }
    (slot < slots ? frame.slots : frame.stack).push_back(value);
  }
  while (static_cast<int>(frame.slots.size()) < slots) frame.slots.push_back(frames_.null());
  initial_slots_ = frame.slots;
  initial_stack_ = frame.stack;
  watched_.clear();
  for (size_t at = 0; at < initial_stack_.size(); ++at)
    if (as<ObjectValue>(initial_stack_[at]) != nullptr) watched_.emplace_back(initial_stack_[at], at);
}

Walk::~Walk() {
  // A generator may be in its own frame.
  for (const Handle<IteratorValue>& generator : generators_) generator->frame.reset();
  std::vector<ValuePtr> reached;
  auto add = [&](const std::vector<ValuePtr>& values) {
    for (const ValuePtr& value : values) reached.push_back(value);
  };
  for (const auto* values : {&mutables_, &written_, &stored_cells_, &functions_with_dict_, &frames_.handled()})
    add(*values);
  for (const auto& frame : frames_)
    for (const auto* values : {&frame->slots, &frame->stack}) add(*values);
  for (const PendingEffect& effect : effects_) reached.push_back(effect.value);
  classes_.add_reached(reached);
  reached.push_back(result_);
  break_cycles(std::move(reached));
}

CapturedRegion Walk::run() {
  ShapeGuardScope scope(&sizes_);
  while (!finished_) {
    SymbolicFrame& current = frames_.innermost();
    bool is_root = frames_.depth() == 1;
    current.index = current.next;
    stack_before_ = current.stack;
    instruction_step_ = steps_ + 1;
    advanced_ = false;
    Extent before = extent();
    try {
      step();
      if (is_root && !watched_.empty() && !finished_) look_for_dropped();
    } catch (const BreakSignal& signal) {
      return end_at_break(signal, before);
    } catch (const RaiseSignal& signal) {
      if (!signal.exception || !unwind(signal.exception, 0)) return end_at_raise(signal, before);
    }
  }
  return finish(ExitKind::Return, std::nullopt);
}

Walk::Extent Walk::extent() const {
  return {graph_->nodes().size(), inputs_.size(), effects_.size(),        queued_.size(),
          call_outs_.size(),      guards_.size(), sizes_.relation_count()};
}

EndingFacts Walk::ending_facts(const Extent& before) {
  EndingFacts facts;
  facts.is_inside = advanced_ || steps_ != instruction_step_;
  facts.has_appended = extent() != before;
  facts.in_ours = frames_.first_of_ours() != nullptr;
  facts.in_stricter = frames_.first_stricter() > 0;
  facts.inlined = frames_.depth() > 1;
  facts.nests = frames_.may_nest();
  facts.fullgraph = frames_.innermost().policy->fullgraph;
  facts.breaks_are_errors = frames_.innermost().policy->breaks_are_errors();
  return facts;
}

CapturedRegion Walk::end_at_break(const BreakSignal& signal, const Extent& before) {
  GraphBreak found{signal.reason, signal.context, signal.explanation, frames_.user_stack(),
                   opcode_gloss(frames_.bytecode()[frames_.innermost().index].op)};
  bool restarted = ends_below_restart();
  if (restarted && !restart_->graph_break.user_stack.empty()) found.user_stack = restart_->graph_break.user_stack;
  EndingFacts facts = ending_facts(before);
  facts.breaks = true;
  facts.skips = signal.reason == BreakReason::skip_frame_call && !restarted;
  CapturedRegion region = carry_out(decide_ending(facts), std::move(found));
  region.skips_frame = facts.skips;
  region.leaves_rest = signal.reason == BreakReason::step_unsupported_call && !restarted;
  return region;
}

CapturedRegion Walk::end_at_raise(const RaiseSignal& signal, const Extent& before) {
  InstanceValue* exception = signal.exception ? exception_of(signal.exception) : nullptr;
  int64_t raised_step = exception != nullptr ? exception->exception->raised_step : 0;
  EndingFacts facts = ending_facts(before);
  facts.raised_before = raised_step != 0;
  return carry_out(decide_ending(facts), {BreakReason::call_out, "", "", {}, ""}, raised_step);
}

CapturedRegion Walk::carry_out(Ending ending, GraphBreak found, int64_t raised_step) {
  const EndingRow& row = ending_row(ending);
  RestartSignal again{0, std::move(found), frames_.innermost().policy};
  size_t callee = 0;  // the frame whose call the region ends before
  switch (row.place) {
    case EndPlace::Here:
      frames_.innermost().stack = stack_before_;
      return ending == Ending::Raise ? finish(ExitKind::Raise, std::nullopt)
                                     : finish(ExitKind::Break, std::move(again.graph_break));
    case EndPlace::ThisStep:
      again.step = steps_;
      again.is_own = true;
      again.raises = !row.is_told;
      throw again;
    case EndPlace::Instruction:
      again.step = instruction_step_;
      break;
    case EndPlace::FirstRaise:
      again.step = raised_step;
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
  if (row.is_told) {
    again.in_generator = ends_below_restart() && restart_->in_generator;
  } else {
    again.graph_break = {BreakReason::call_out, again.graph_break.context, "", {}, ""};
  }
  throw again;
}

void Walk::end_silently_before(int64_t step) {
  throw RestartSignal{step, {BreakReason::call_out, "", "", {}, ""}, frames_.innermost().policy};
}

bool Walk::may_call_out() const {
  if (!effects_.empty() || !written_.empty() || !returns_.empty()) return false;
  if (!stored_cells_.empty() || grad_mode != initial_grad_mode_ || inference_mode != initial_inference_mode_)
    return false;
  return std::ranges::none_of(frames_, [](const auto& frame) { return catches(*frame->bytecode, frame->index); });
}

bool Walk::may_describe_failure() const {
  // In a caller's frame that the region has returned to, there is no telling which frame the exception belongs to; what C code
  // calls from inside an instruction belongs to that, unless it is caught before.
  if (!returns_.empty()) return false;
  if (held_.empty()) return steps_ == instruction_step_ && !advanced_;
  return std::none_of(frames_.begin() + static_cast<std::ptrdiff_t>(held_.front().depth), frames_.end(),
                      [](const auto& frame) { return catches(*frame->bytecode, frame->index); });
}

int Walk::add_call_out_site(std::vector<ValueRef>& locals, std::vector<ValueRef>* failure) {
  CallOutSite site;
  if (failure != nullptr) {
    const std::vector<ValuePtr>& before = held_.empty() ? stack_before_ : held_.front().stack;
    site.failure = RegionFinisher(*this).describe_failure(before, *failure);
  }
  site.locals = RegionFinisher(*this).describe_locals(locals);
  add_frames(site);
  call_outs_.push_back(std::move(site));
  return static_cast<int>(call_outs_.size()) - 1;
}

void Walk::add_frames(CallOutSite& site) {
  for (const auto& each : frames_) {
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
void Walk::step() {
  SymbolicFrame& current = frames_.innermost();
  const Instruction& instruction = (*current.bytecode)[current.index];
  ++steps_;
  ++current.begun;
  met_strict_ = met_strict_ || current.policy->error_on_graph_break;
  forget_differences();
  if (restart_ != nullptr && steps_ == restart_->step) {
    if (restart_->raises) throw RaiseSignal{};
    const GraphBreak& found = restart_->graph_break;
    throw BreakSignal{found.reason, found.context, found.explanation};
  }
  int64_t stress = config().snapshot_stress;
  bool prologue = instruction.op == Opcode::MAKE_CELL || instruction.op == Opcode::COPY_FREE_VARS ||
                  instruction.op == Opcode::RESUME;
  if (stress > 0 && steps_ > stress && !prologue) graph_break(BreakReason::snapshot_stress);
  if (steps_ > config().walk_limit &&
      (instruction.op == Opcode::JUMP_BACKWARD || instruction.op == Opcode::CALL || steps_ > 2 * config().walk_limit))
    graph_break(BreakReason::walk_limit, str_cat("after ", steps_, " instructions"));
  if ((steps_ & 0xfff) == 0) check_status(PyErr_CheckSignals());
  OpcodeHandler handler = opcode_handler(instruction.op);
  if (handler == nullptr) graph_break(BreakReason::unsupported_opcode, opcode_name(instruction.op));
  current.next = current.index + 1;
  if (trace_.on()) trace_.before(*this, instruction);
  bool went_back = frames_.has_gone_back();
  try {
    handler(*this, instruction);
  } catch (const PythonError&) {
    if (!take_unasked_comparison()) throw;
    graph_break(BreakReason::unhashable_key, "a key with its own equality");
  }
  // The loop of `yield from` serves nobody: the innermost generator does.
  if (instruction.op == Opcode::JUMP_BACKWARD && instruction.arg2 != 0) frames_.set_gone_back(went_back);
  if (trace_.on()) trace_.after(*this);
}

CapturedRegion Walk::finish(ExitKind exit, std::optional<GraphBreak> found) {
  const Policy* break_policy = frames_.innermost().policy;
  int repeated_records = 0;
  if (found && ends_below_restart()) {
    if (!restart_->graph_break.user_stack.empty()) found->user_stack = restart_->graph_break.user_stack;
    break_policy = restart_->policy;
    repeated_records = calls_wrapper() ? 1 : 0;
  }
  CapturedRegion region = RegionFinisher(*this).finish(exit, std::move(found));
  region.break_policy = break_policy;
  region.instructions = steps_ - 1;
  region.goes_back = frames_.has_gone_back();
  region.repeated_records = repeated_records;
  return region;
}

// Whether the call at which the outermost frame stands goes through a wrapper that counts as a frame of its own.
bool Walk::calls_wrapper() {
  for (const ValuePtr& value : frames_.innermost().stack) {
    if (value->kind == ValueKind::PolicyFunction) return true;
    auto* object = as<ObjectValue>(value);
    const WrapperType* wrapper = object != nullptr ? find_wrapper_type(object->object.type()) : nullptr;
    if (wrapper != nullptr && wrapper->counts_as_frame) return true;
  }
  return false;
}
CapturedRegion capture_region(const WalkStart& start) {
  fill_late_call_registry();
  DimTableScope dims;
  ConstantResults constant_results;
  std::optional<RestartSignal> restart;
  OperatorSites declined;
  for (;;) {
    Walk walk(start, restart ? &*restart : nullptr, declined);
    try {
      CapturedRegion region = walk.run();
      region.graph->keep_dims(dims.table());
      return region;
    } catch (const RestartSignal& signal) {
      // The break lies below a call that cannot be left half-way: walk again and end at that call.
      restart = signal;
    } catch (const DeclinedSignal& signal) {
      declined.insert(signal.site);
    }
  }
}

}  // namespace md
