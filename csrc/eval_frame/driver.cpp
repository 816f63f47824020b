#include "eval_frame/driver.h"

#include "base/config.h"
#include "base/interrupts.h"
#include "cpython/errors.h"
#include "cpython/stack_room.h"
#include "cpython/version_facts.h"
#include "eval_frame/concrete.h"
#include "eval_frame/continuations.h"
#include "eval_frame/counters.h"
#include "eval_frame/hook.h"
#include "eval_frame/pending.h"
#include "eval_frame/quick_steps.h"
#include "eval_frame/region_lookup.h"
#include "eval_frame/signal_service.h"
#include "eval_frame/unraised.h"
#include "eval_frame/unwinder.h"
#include "symbolic/tensors/host_calls.h"

#include <algorithm>

namespace md {

namespace {

// After this many consecutive regions that computed nothing, the frame is left to the interpreter.
constexpr int kEmptyRegionLimit = 64;

// Every local and stack element is a value of the trace, and is checked in each run. No region starts with more than
// this: an expression (display, f-string, call) with tens of thousands of parts is executed here.
constexpr int kLargestStart = 2048;

// Without its module.
std::string name_of_class(PyObject* type) {
  std::string_view name = PyType_Check(type) ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "";
  return std::string(name.substr(name.rfind('.') + 1));
}

}  // namespace

void add_slots(PvFrame* frame, int count, FrameSlots& slots) {
  PyObject** added = slots.append(static_cast<size_t>(count));
  for (int slot = 0; slot < count; ++slot) added[slot] = pv_get(frame, slot);
}

LocalsView view_of(PvFrame* frame, const FrameSlots& slots) {
  return {slots.data(), static_cast<int>(slots.size()), pv_func(frame)};
}

FrameDriver::FrameDriver(LiveFrame& frame, const Policy* policy)
    : frame_(frame), policy_(policy), callees_(frame.bytecode().code()) {
  ++counters().frames_driven;
}

FrameDriver::FrameDriver(LiveFrame& frame, FrameDriver& caller, const FrameImage& image)
    : frame_(frame), policy_(image.state->policy), caller_(&caller), image_(&image), callees_(frame.bytecode().code()) {
  ++counters().frames_driven;
  // If breaks are errors, the error is raised in the frame of the break.
  if (caller.policy_->breaks_are_errors()) return;
  auto callers = std::make_shared<CallerChain>();
  const Bytecode* innermost = image.state->bytecode;
  auto seen = [&](const Bytecode* code) {
    return code == innermost || std::any_of(callers->begin(), callers->end(),
                                            [&](const CallerPlace& place) { return place.bytecode == code; });
  };
  if (seen(&caller.frame_.bytecode())) return;
  callers->push_back({&caller.frame_.bytecode(), caller.frame_.index(), caller.frame_.depth(),
                      image.state->continuation, caller.policy_});
  if (caller.callers_) {
    for (const CallerPlace& place : *caller.callers_) {
      if (seen(place.bytecode)) break;
      callers->push_back(place);
    }
  }
  callers_ = std::move(callers);
}

LocalsView FrameDriver::view() {
  slots_.clear();
  add_slots(frame_.raw(), frame_.bytecode().slot_count() + frame_.depth(), slots_);
  size_t count = callers_ ? callers_->size() : 0;
  const FrameDriver* callee = this;
  for (size_t level = 0; level < count; ++level) {
    const LiveFrame& waiting = callee->caller_->frame_;
    slots_.push_back(pv_func(waiting.raw()));
    slots_.push_back(callee->image_->continuation_value.get());
    add_slots(waiting.raw(), (*callers_)[level].slot_count() - 2, slots_);
    callee = callee->caller_;
  }
  return view_of(frame_.raw(), slots_);
}

PyObject* FrameDriver::finish() {
  note_end();
  PyObject* result = std::exchange(result_, nullptr);
  if (!capture_error_ || result == nullptr) return result;
  // A generator that yields has not ended, and cannot leave with an exception.
  if (pv_makes_generator(frame_.bytecode().code())) return result;
  Py_DECREF(result);
  set_raised(std::move(capture_error_));
  return nullptr;
}

PyObject* FrameDriver::run() {
  while (advance() == Advance::Continue) {
  }
  return finish();
}

PyObject* FrameDriver::run_from(RegionRun& run) {
  note_region(run.entry());
  if (leave_region(run) == Advance::Continue) return this->run();
  return finish();
}

PyObject* FrameDriver::run_inside(RegionRun& run) {
  Advance advance;
  try {
    advance = run_region(run);
  } catch (...) {
    advance = raise_from_region(&run);
  }
  return advance == Advance::Continue ? this->run() : finish();
}

PyObject* FrameDriver::run_stopped(RegionRun& run) {
  if (stop_at_output(run) == Advance::Continue) return this->run();
  return finish();
}

PyObject* FrameDriver::run_ended(RegionRun& run, Ref error) {
  if (raise_at_return(run, std::move(error)) == Advance::Continue) return this->run();
  return finish();
}

PyObject* FrameDriver::resume(FrameImages& images, size_t level) {
  if (continue_with(images, level) == Advance::Continue) return run();
  return finish();
}

// Signals are handled before anything else happens in the frame.
PyObject* FrameDriver::run_resumed() {
  bool resumes = frame_.instruction().op == Opcode::RESUME;
  return resumes && execute_here() == Advance::Left ? finish() : run();
}

PyObject* FrameDriver::run_concretely() {
  only_concrete_ = true;
  return run();
}

PyObject* FrameDriver::run_workless(const RegionEntryPtr& entry) {
  return enter_stretch(*entry->region.workless, entry) == Advance::Continue ? run() : finish();
}

FrameDriver::Advance FrameDriver::bail_out_here(Bailout reason) {
  note_bailout(reason, frame_.bytecode(), frame_.index());
  AmbientPolicy ambient(policy_);
  std::optional<HookPause> pause;
  bool is_deep = reason == Bailout::no_room || reason == Bailout::no_stack;
  if (is_deep && !(kResumesThroughC && pv_is_generator(frame_.raw()) != 0)) pause.emplace();
  result_ = resume_in_interpreter(frame_);
  return Advance::Left;
}

// The evaluator executes the last instruction of the frame, or of a generator until it is resumed.
FrameDriver::Advance FrameDriver::execute_last() {
  ++counters().final_instructions;
  AmbientPolicy ambient(policy_);
  result_ = resume_in_interpreter(frame_);
  return Advance::Left;
}

FrameDriver::Advance FrameDriver::handle_raise(bool adds_entry) {
  if (unwind(frame_, adds_entry)) return Advance::Continue;
  result_ = leave_by_throw(frame_);
  return Advance::Left;
}

FrameDriver::Advance FrameDriver::advance() {
  if (check_) return go_on_checked();
  if (pv_traced(frame_.thread(), frame_.raw()) != 0) return bail_out_here(Bailout::traced);
  if (is_below_another_hook()) return bail_out_here(Bailout::another_hook);
  if (pv_has_stack_room() == 0) return bail_out_here(Bailout::no_stack);
  if (std::exchange(pending_checks_due_, false))
    if (std::optional<Advance> left = handle_pending()) return *left;
  // The interpreter can enter a split unit only at its start.
  bool is_large = frame_.bytecode().slot_count() + frame_.depth() > kLargestStart;
  if (stretch_.contains(frame_.index())) return run_stretch();
  if (numbers_ && numbers_->contains(frame_.index()) && !only_concrete_)
    return ++empty_regions_ > kEmptyRegionLimit ? leave_empty_regions() : run_numbers();
  if (only_concrete_ || is_large || !frame_.instruction().resumable) return execute_here();
  std::optional<RegionRun> run;
  try {
    RegionPlace place{frame_.bytecode(), frame_.index(), frame_.depth(), view(), policy_, callers_};
    Bailout why;
    FetchedObjects fetched;
    RegionEntryPtr entry = find_or_capture(place, why, fetched);
    if (entry == nullptr) return run_uncaptured(why);
    if (entry->is_driven() || entry->is_left()) return leave_to_python(std::move(entry));
    if (is_unprofitable(*entry)) return leave_empty_regions();
    if (take_numbers(entry)) return run_numbers();
    run.emplace(std::move(entry), place.view, &fetched);
    return run_region(*run);
  } catch (const CaptureError& error) {
    keep_capture_error(error);
    return raise_from_region(nullptr);
  } catch (...) {
    return raise_from_region(run ? &*run : nullptr);
  }
}

FrameDriver::Advance FrameDriver::leave_to_python(RegionEntryPtr entry) {
  if (entry->is_driven()) return enter_stretch(*entry->region.workless, entry);
  Bailout reason = bailout_of(*entry);
  if (entry->was_learned()) callees_.watch(std::move(entry));
  return bail_out_here(reason);
}

// A loop goes on without regions, as work may follow it.
FrameDriver::Advance FrameDriver::leave_empty_regions() {
  std::optional<Stretch> loop = innermost_loop(frame_.bytecode(), frame_.index());
  if (!loop || first_empty_ == nullptr || !may_go_on(frame_.bytecode(), *loop))
    return bail_out_here(Bailout::empty_regions);
  empty_regions_ = 0;
  first_empty_->behind.set_may_exist();
  return enter_stretch(*loop, std::exchange(first_empty_, nullptr));
}

FrameDriver::Advance FrameDriver::enter_stretch(const Stretch& more, RegionEntryPtr entry) {
  note_start(entry);
  stretch_ = stretch_.joins(more) ? stretch_.joined(more) : more;
  workless_.push_back(std::move(entry));
  ++counters().stretches_driven;
  return run_stretch();
}

// As execute_here() for each of them, with the policy set once.
FrameDriver::Advance FrameDriver::run_stretch() {
  StepResult done;
  int from;
  {
    AmbientPolicy ambient(policy_);
    do {
      note_instructions(step_quickly_in(frame_, stretch_));
      from = frame_.index();
      done = {Outcome::Next, from};
      if (!stretch_.contains(from)) break;
      note_instructions(1);
      done = step_or_lend();
      if (!frame_.entered()) return Advance::Left;
      if (ambient.now() != nullptr) policy_ = ambient.now();
      if (done.outcome != Outcome::Next) break;
      frame_.set_index(done.index);
    } while (stretch_.contains(done.index) && (done.index > from || !is_below_another_hook()));
  }
  if (done.outcome != Outcome::Next) {
    note_instructions(-1);  // finish_step() counts it
    return finish_step(done, nullptr);
  }
  // Learned meanwhile, from a frame of the same code that this one has called.
  if (workless_.empty() || stretch_.contains(done.index) || workless_.back()->behind.may_exist())
    return Advance::Continue;
  return frame_.instruction().resumable ? leave_to_python(std::exchange(workless_, {}).back()) : execute_here();
}

std::optional<FrameDriver::Advance> FrameDriver::handle_pending() {
  int status = pv_handle_pending(frame_.thread());
  if (status == 0) return std::nullopt;
  if (status > 0) return bail_out_here(Bailout::pending_call);
  frame_.set_current_unit(frame_.instruction().lasti);
  return handle_raise();
}

// If every frame must stay in the driver, the driver executes the rest of this one.
FrameDriver::Advance FrameDriver::run_uncaptured(Bailout why) {
  if (!policy_->keeps_empty_regions || is_interpreters(why)) return bail_out_here(why);
  only_concrete_ = true;
  return execute_here();
}

void FrameDriver::note_start(const RegionEntryPtr& entry) {
  if (std::exchange(has_started_, true)) return;
  if (caller_ == nullptr && entry->instruction == 0) first_ = entry;
}

// Learns what follows the regions without a plan that this frame goes through.
void FrameDriver::note_region(const RegionEntryPtr& entry) {
  note_start(entry);
  balance_.add_region(entry->saved);
  if (entry->plan == nullptr) {
    if (first_empty_ == nullptr && !entry->region.is_strict_inside) first_empty_ = entry;
    return;
  }
  callees_.note_work();
  empty_regions_ = 0;
  if (first_empty_ != nullptr) std::exchange(first_empty_, nullptr)->behind.note_plan();
  if (workless_.empty()) return;
  for (const RegionEntryPtr& before : std::exchange(workless_, {})) before->behind.note_plan();
}

// The frame ends, or is left to Python.
void FrameDriver::note_end() {
  for (const RegionEntryPtr& entry : workless_) entry->behind.note_end();
  if (caller_ != nullptr) {
    caller_->balance_.add(balance_);
  } else {
    counters().work_gained += balance_.gained();
    counters().work_lost += balance_.lost();
  }
  if (policy_->keeps_empty_regions || policy_->breaks_are_errors() || config().snapshot_stress != 0) return;
  if (first_empty_ != nullptr) first_empty_->behind.note_empty_frame();
  if (first_ != nullptr && first_->checks_left == 0) first_->poor_frames.note(balance_);
}

bool FrameDriver::is_unprofitable(const RegionEntry& entry) {
  bool wanted = entry.plan != nullptr || policy_->keeps_empty_regions || config().snapshot_stress != 0;
  return !wanted && ++empty_regions_ > kEmptyRegionLimit;
}

FrameDriver::Advance FrameDriver::run_region(RegionRun& run) {
  note_region(run.entry());
  if (run.entry()->checks_left > 0)
    if (std::optional<Advance> advance = check_region(run)) return *advance;
  if (!run.run_plan(&frame_)) return bail_out_here(run.failure());
  return leave_region(run);
}

// The exception is raised at the region's start, or at the host call that raised it.
FrameDriver::Advance FrameDriver::raise_from_region(RegionRun* run) {
  set_error_from_current_exception();
  std::optional<FailedHostCall> failed = take_failed_host_call();
  bool is_ours = failed && run != nullptr && failed->trace == run->region().trace;
  if (is_ours && run->has_images_for(*failed)) return raise_in_images(*run, *failed);
  if (is_ours) frame_.set_index(failed->instruction);
  frame_.set_current_unit(frame_.instruction().lasti);
  return handle_raise();
}

// error_on_graph_break may be meant for handlers in the function; fullgraph means one graph or an error.
void FrameDriver::keep_capture_error(const CaptureError& capture_error) {
  if (!policy_->fullgraph && !capture_error.outlives_handlers) return;
  Ref error = take_raised();
  for (FrameDriver* driver = this; driver != nullptr; driver = driver->caller_) driver->capture_error_ = error;
  set_raised(std::move(error));
}

// First the frames are restored to their state at the call.
FrameDriver::Advance FrameDriver::raise_in_images(RegionRun& run, FailedHostCall& failed) {
  raising_ = take_raised();
  FrameImages images;
  try {
    images = run.take_failure_images(failed);
  } catch (...) {
    set_error_from_current_exception();
    return handle_raise();
  }
  return continue_with(images, 0);
}

FrameDriver::Advance FrameDriver::raise_saved() {
  set_raised(std::move(raising_));
  frame_.set_current_unit(frame_.instruction().lasti);
  return handle_raise();
}

FrameDriver::Advance FrameDriver::stop_at_output(RegionRun& run) {
  OutputReplay& replay = run.replay();
  if (replay.raised()) raising_ = replay.take_error(frame_);
  if (!replay.has_images()) {
    frame_.set_index(replay.instruction());
    return raise_saved();
  }
  is_done_ = !raising_;
  FrameImages images = replay.take_images();
  return continue_with(images, 0);
}

FrameDriver::Advance FrameDriver::leave_region(RegionRun& run) {
  const CapturedRegion& region = run.region();
  counters().translated_instructions += region.instructions;
  pending_checks_due_ = pending_checks_due_ || region.goes_back;
  if (!region.snapshot.returns.empty()) return leave_to_caller(run);
  if (may_link(*run.entry())) return run_linked(run);
  if (region.exit == ExitKind::Return) {
    const FrameState& state = region.snapshot.frames.front();
    // Objects are built before the effects, which may change what they are built from.
    SlotObjects locals = state.owns_moved ? run.build_slots(state.slots) : SlotObjects{};
    Ref result = run.take_result(&frame_);
    if (!result) return stop_at_output(run);
    if (interrupt_waits() && !run_waiting_handlers()) return raise_at_return(run, take_raised());
    put(frame_, state.owns_moved ? std::move(locals) : exit_locals(run, state.slots));
    run.release();
    return return_result(std::move(result), state.index);
  }
  FrameImages images = run.take_images(&frame_);
  if (images.empty()) return stop_at_output(run);
  rest_uncaptured_ = region.rest_uncaptured;
  left_ = run.entry().get();
  return continue_with(images, 0);
}

FrameDriver::Advance FrameDriver::raise_at_return(RegionRun& run, Ref error) {
  const FrameState& state = run.region().snapshot.frames.front();
  put(frame_, run.build_slots(state.slots));
  frame_.drop_to(0);
  frame_.set_index(state.index);
  raising_ = std::move(error);
  return raise_saved();
}

SlotObjects FrameDriver::exit_locals(RegionRun& run, const std::vector<SlotValue>& slots) const {
  return pv_has_object(frame_.raw()) != 0 ? run.build_slots(slots) : SlotObjects{};
}

FrameDriver::Advance FrameDriver::leave_to_caller(RegionRun& run) {
  const Snapshot& snapshot = run.region().snapshot;
  std::vector<SlotObjects> locals;
  FrameDriver* waiting = this;
  for (const Snapshot::ReturnedFrame& frame : snapshot.returns) {
    locals.push_back(frame.owns_moved ? run.build_slots(frame.slots) : waiting->exit_locals(run, frame.slots));
    waiting = waiting->caller_;
  }
  Arrival arrival{run.entry(), {}, {}, -1, false, {}};
  if (run.region().exit == ExitKind::Return) {
    const FrameState& state = snapshot.frames.front();
    arrival.locals = state.owns_moved ? run.build_slots(state.slots) : waiting->exit_locals(run, state.slots);
    arrival.result = run.take_result(&frame_);
    if (!arrival.result) return stop_at_output(run);
    arrival.index = state.index;
  } else {
    arrival.images = run.take_images(&frame_);
    if (arrival.images.empty()) return stop_at_output(run);
    arrival.rest_uncaptured = run.region().rest_uncaptured;
  }
  waiting->pending_checks_due_ = waiting->pending_checks_due_ || run.region().goes_back;
  waiting->arrival_ = std::move(arrival);
  waiting = caller_;
  for (size_t level = 1; level < snapshot.returns.size(); ++level) {
    waiting->arrival_ =
        Arrival{nullptr, {}, Ref::share(Py_None), snapshot.returns[level].index, false, std::move(locals[level])};
    waiting = waiting->caller_;
  }
  put(frame_, std::move(locals.front()));
  run.release();
  return return_result(Ref::share(Py_None), snapshot.returns.front().index);
}

FrameDriver::Advance FrameDriver::arrive() {
  Arrival arrival = std::move(*arrival_);
  arrival_.reset();
  if (arrival.result) {
    put(frame_, std::move(arrival.locals));
    return return_result(std::move(arrival.result), arrival.index);
  }
  rest_uncaptured_ = arrival.rest_uncaptured;
  left_ = arrival.entry.get();
  return continue_with(arrival.images, 0);
}

// The evaluator executes the return: it clears the frame and fires the monitoring events.
FrameDriver::Advance FrameDriver::return_result(Ref result, int index) {
  frame_.drop_to(0);
  frame_.set_index(index);
  if (frame_.instruction().op == Opcode::RETURN_VALUE) frame_.push(std::move(result));
  ++counters().final_instructions;
  result_ = resume_in_interpreter(frame_);
  return Advance::Left;
}

FrameDriver::Advance FrameDriver::continue_with(FrameImages& images, size_t level) {
  restore(frame_, images[level]);
  policy_ = images[level].state->policy;
  if (level + 1 == images.size()) {
    RegionEntry* left = std::exchange(left_, nullptr);
    if (rest_uncaptured_) return bail_out_here(Bailout::skipped);
    if (std::exchange(is_done_, false)) {
      frame_.set_index(frame_.index() + 1);
      return Advance::Continue;
    }
    if (raising_) return raise_saved();
    // Handles signals that arrived while the plan ran. If nothing has run, the interpreter would not check either: a
    // signal reaches the innermost of generators that delegate to each other.
    if (left != nullptr && left->plan != nullptr && interrupt_waits())
      if (std::optional<Advance> served = handle_pending()) return *served;
    return execute_here(left);
  }
  FrameImage& inner = images[level + 1];
  frame_.set_current_unit(frame_.instruction().lasti);
  ++counters().frames_materialised;
  Ref result;
  {
    AmbientPolicy ambient(inner.state->policy);
    result = enter_inner_frame(inner.function.get(), [&](LiveFrame& frame) {
      FrameDriver driver(frame, *this, inner);
      driver.raising_ = std::move(raising_);
      driver.rest_uncaptured_ = std::exchange(rest_uncaptured_, false);
      driver.left_ = std::exchange(left_, nullptr);
      driver.is_done_ = std::exchange(is_done_, false);
      return driver.resume(images, level + 1);
    });
  }
  // Released here: values of frames that are gone must not live on.
  FrameImage gone = std::move(inner);
  images.truncate(level + 1);
  if (arrival_ && result) {
    gone = FrameImage();
    return arrive();
  }
  arrival_.reset();
  return take_inner_result(gone, std::move(result));
}

FrameDriver::Advance FrameDriver::take_inner_result(const FrameImage& inner, Ref result) {
  if (!result) return take_inner_error(inner);
  WaitingCall call{frame_, frame_.instruction(), inner.continuation_value, frame_.index() + 1};
  if (!take_result(inner.state->continuation, call, std::move(result))) return handle_raise();
  frame_.set_index(call.next);
  return Advance::Continue;
}

FrameDriver::Advance FrameDriver::take_inner_error(const FrameImage& inner) {
  ContinuationKind kind = inner.state->continuation;
  bool stops = kind == ContinuationKind::NextOrStop && PyErr_ExceptionMatches(PyExc_StopIteration) != 0;
  bool of_attribute = kind == ContinuationKind::Push || kind == ContinuationKind::PushCallable;
  if (PyObject* looked_up = of_attribute ? inner.continuation_value.get() : nullptr)
    add_attribute_context(PyTuple_GET_ITEM(looked_up, 0), PyTuple_GET_ITEM(looked_up, 1));
  if (!stops) return handle_raise();
  PyErr_Clear();
  frame_.pop();
  frame_.set_index(frame_.instruction().arg);
  return Advance::Continue;
}

FrameDriver::Advance FrameDriver::execute_here(RegionEntry* left) {
  StepResult done;
  {
    AmbientPolicy ambient(policy_);
    done = step_under(ambient);
  }
  return finish_step(done, left);
}

// What has raised once is no fault of the capture where it does not later: not all that it depends on is guarded.
void FrameDriver::note_raised(RegionEntry& left) {
  left.raised = name_of_class(PyErr_Occurred());
  left.region.if_unraised.reset();
}

FrameDriver::Advance FrameDriver::note_unraised(RegionEntry& left, int index) {
  try {
    report_unraised(left, frame_.bytecode());
    return Advance::Continue;
  } catch (const CaptureError& error) {
    keep_capture_error(error);
  }
  frame_.set_index(index);
  frame_.set_current_unit(frame_.instruction().lasti);
  return handle_raise();
}

FrameDriver::Advance FrameDriver::finish_step(const StepResult& done, RegionEntry* left) {
  const int executed = frame_.index();
  frame_.set_index(done.index);
  if (done.outcome == Outcome::Return) return execute_last();
  note_instructions(1);
  switch (done.outcome) {
    case Outcome::Next:
      if (left != nullptr && left->region.if_unraised) return note_unraised(*left, executed);
      return Advance::Continue;
    case Outcome::Return:
      return Advance::Continue;
    case Outcome::Bailout:
      return bail_out_here(done.reason);
    case Outcome::Raised:
      if (left != nullptr) note_raised(*left);
      return handle_raise();
    case Outcome::Reraised:
      return handle_raise(false);
  }
  return Advance::Left;
}

}  // namespace md
