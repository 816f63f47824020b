// A frame under config.check_captures: the driver executes it eagerly as far as the region extends.
#include "base/config.h"
#include "cpython/errors.h"
#include "eval_frame/concrete.h"
#include "eval_frame/counters.h"
#include "eval_frame/driver.h"
#include "eval_frame/pending.h"
#include "eval_frame/unwinder.h"

namespace md {

namespace {

// Exceptions that can occur however the program is captured.
bool is_from_outside(BorrowedRef error) {
  for (PyObject* type : {PyExc_RecursionError, PyExc_MemoryError, PyExc_KeyboardInterrupt, PyExc_SystemExit})
    if (PyErr_GivenExceptionMatches(error, type) != 0) return true;
  return false;
}

}  // namespace

std::optional<FrameDriver::Advance> FrameDriver::check_region(RegionRun& run) {
  --run.entry()->checks_left;
  if (std::optional<Uncompared> refusal = CaptureCheck::refusal(run)) {
    count_uncompared(*refusal);
    return std::nullopt;
  }
  std::vector<LiveFrame*> frames;
  FrameDriver* driver = this;
  for (size_t i = 0; i <= run.region().snapshot.returns.size(); ++i, driver = driver->caller_)
    frames.push_back(&driver->frame_);
  check_ = CaptureCheck::start(run, frames);
  if (!check_) return bail_out_here(Bailout::plan_failed);
  check_->set_policy(plain_policy(policy_));
  counters().translated_instructions += run.region().instructions;
  return Advance::Continue;
}

FrameDriver::Advance FrameDriver::go_on_checked() {
  if (pv_traced(frame_.thread(), frame_.raw()) != 0) return give_up_check(Uncompared::traced, Bailout::traced);
  if (check_->is_at_stop()) return stop_checked();
  StepResult done;
  {
    AmbientPolicy ambient(check_->policy());
    CheckedPython python;
    done = step(frame_);
    if (ambient.now() != nullptr) check_->set_policy(ambient.now());
  }
  frame_.set_index(done.index);
  check_->count_step();
  switch (done.outcome) {
    case Outcome::Next:
      return Advance::Continue;
    case Outcome::Return:
      return excuse_check() ? execute_last() : fail_check("leaves the frame", nullptr);
    case Outcome::Bailout:
      return give_up_check(done.reason == Bailout::traced ? Uncompared::traced : Uncompared::handed_over, done.reason);
    case Outcome::Raised:
    case Outcome::Reraised:
      return unwind(frame_, done.outcome == Outcome::Raised) ? Advance::Continue : raise_checked();
  }
  return Advance::Left;
}

FrameDriver::Advance FrameDriver::give_up_check(Uncompared reason, Bailout why) {
  count_uncompared(reason);
  check_.reset();
  return bail_out_here(why);
}

// The exception leaves the frame, which the region's exit does not do.
FrameDriver::Advance FrameDriver::raise_checked() {
  Ref error = take_raised();
  std::optional<Uncompared> excuse = check_->excuse();
  if (is_from_outside(error)) excuse = Uncompared::limits;
  if (!excuse) return fail_check("raises", std::move(error));
  count_uncompared(*excuse);
  check_.reset();
  set_raised(std::move(error));
  result_ = leave_by_throw(frame_);
  return Advance::Left;
}

bool FrameDriver::excuse_check() {
  std::optional<Uncompared> excuse = check_->excuse();
  if (!excuse) return false;
  count_uncompared(*excuse);
  check_.reset();
  return true;
}

FrameDriver::Advance FrameDriver::fail_check(const std::string& what, Ref cause) {
  check_->raise_not_reached(frame_, what, std::move(cause));
  return raise_mismatch();
}

// The program's handlers run, but the error is raised again after them.
FrameDriver::Advance FrameDriver::raise_mismatch() {
  bool is_inside = check_->is_inside();
  check_.reset();
  Ref error = take_raised();
  for (FrameDriver* driver = this; driver != nullptr; driver = driver->caller_) driver->capture_error_ = error;
  set_raised(std::move(error));
  frame_.set_current_unit(frame_.instruction().lasti);
  if (!is_inside) return handle_raise();
  // No region may start in a frame whose caller is in C.
  result_ = leave_by_throw(frame_);
  return Advance::Left;
}

namespace {

// Of a frame that returns. The region has closed those that die with the frame.
void close_dying_generators(LiveFrame& frame) {
  CheckedPython python;
  for (int slot = 0; slot < frame.bytecode().slot_count(); ++slot) {
    BorrowedRef value = frame.get(slot);
    if (value && PyGen_CheckExact(value.get()) && Py_REFCNT(value.get()) == 1) frame.put(slot, Ref());
  }
}

}  // namespace

FrameDriver::Advance FrameDriver::stop_checked() {
  if (!check_->stands_right(frame_)) {
    bool is_inside = check_->is_inside();
    if (!excuse_check()) return fail_check("takes another way", nullptr);
    return is_inside ? bail_out_here(Bailout::worthless) : Advance::Continue;
  }
  if (check_->returns_here()) {
    check_->go_to_caller(caller_->policy_);
    caller_->check_ = std::move(check_);
    return execute_here();
  }
  checked_depth_ = check_->depth_at_stop(frame_);
  if (check_->ends_inside()) return enter_checked();
  const CapturedRegion& region = check_->region();
  std::vector<CaptureCheck::Standing> standing;
  for (FrameDriver* driver = this; standing.size() < region.snapshot.frames.size(); driver = driver->caller_)
    standing.insert(standing.begin(), {&driver->frame_, driver->checked_depth_});
  {
    AmbientPolicy ambient(check_->policy());
    if (region.exit == ExitKind::Return) close_dying_generators(frame_);
    if (!check_->compare(standing)) check_->raise_mismatch(frame_);
  }
  if (PyErr_Occurred() != nullptr) return raise_mismatch();
  if (standing.size() > 1) {
    give_up_frames(standing.size());
    return leave_early();
  }
  if (region.exit != ExitKind::Return) {
    policy_ = region.snapshot.frames.front().policy;
    ++counters().snapshots_restored;
  }
  const RegionEntryPtr left = check_->entry();
  check_.reset();
  return region.rest_uncaptured ? bail_out_here(Bailout::skipped) : execute_here(left.get());
}

void FrameDriver::give_up_frames(size_t count) {
  const RegionEntryPtr entry = check_->entry();
  Compared compared{entry, {}};
  std::vector<FrameDriver*> drivers;
  for (FrameDriver* driver = this; drivers.size() < count; driver = driver->caller_)
    drivers.insert(drivers.begin(), driver);
  for (size_t level = 0; level < count; ++level) {
    LiveFrame& frame = drivers[level]->frame_;
    FrameImage& image = compared.images.emplace_back();
    image.state = &entry->region.snapshot.frames[level];
    image.function = Ref::share(frame.function());
    for (int slot = 0; slot < frame.bytecode().slot_count(); ++slot) {
      bool is_deleted = !frame.get(slot) && frame.bytecode().slot_kind(slot) == SlotKind::Local;
      if (frame.get(slot) || is_deleted) image.slots.emplace_back(slot, Ref::share(frame.get(slot)));
    }
    for (int at = 0; at < drivers[level]->checked_depth_; ++at)
      image.stack.push_back(Ref::share(frame.peek(frame.depth() - at)));
    image.continuation_value = check_->python_value(check_->continuation_value(level));
    drivers[level]->leaves_early_ = level > 0;
  }
  drivers.front()->compared_ = std::move(compared);
  check_.reset();
}

// Leaves by returning: the C code that called the frame only needs a result.
FrameDriver::Advance FrameDriver::leave_early() {
  const Bytecode& code = frame_.bytecode();
  frame_.drop_to(0);
  for (int index = code.size() - 1; index >= 0; --index) {
    if (code[index].op == Opcode::RETURN_VALUE) return return_result(Ref::share(Py_None), index);
    if (code[index].op == Opcode::RETURN_CONST) return return_result(Ref(), index);
  }
  frame_.set_index(0);
  PyErr_SetNone(PyExc_RuntimeError);
  result_ = leave_by_throw(frame_);
  return Advance::Left;
}

FrameDriver::Advance FrameDriver::enter_checked() {
  BorrowedRef function = check_->inner_function(frame_);
  if (!function) return give_up_check(Uncompared::inner_frame, Bailout::worthless);
  RegionEntryPtr entry = check_->entry();  // keeps the state alive
  FrameImage inner;
  inner.state = check_->inner_image().state;
  PyObject** handled_place = pv_exc_slot(frame_.thread());
  Ref handled = Ref::share(*handled_place), keeps = Ref::share(function);
  StepResult done;
  {
    AmbientPolicy ambient(check_->policy());
    CheckedPython python;
    auto go_on = [&](LiveFrame& frame) {
      FrameDriver driver(frame, *this, inner);
      check_->go_inside(frame);
      driver.check_ = std::move(check_);
      return driver.run();
    };
    FrameContinuation continuation(go_on);
    AwaitedFrame awaited(function, continuation);
    done = step(frame_);
  }
  if (compared_ || leaves_early_) {
    if (done.outcome == Outcome::Raised) PyErr_Clear();
    Ref left = Ref::steal(std::exchange(*handled_place, handled.release()));
    if (leaves_early_) return leave_early();
    Compared compared = *std::exchange(compared_, std::nullopt);
    frame_.drop_to(0);
    for (const Ref& value : compared.images[0].stack) frame_.push(value);
    rest_uncaptured_ = compared.entry->region.rest_uncaptured;
    left_ = compared.entry.get();
    return continue_with(compared.images, 0);
  }
  frame_.set_index(done.index);
  if (check_) {
    if (done.outcome == Outcome::Raised || done.outcome == Outcome::Reraised) return raise_checked();
    if (!excuse_check()) return fail_check("does not call what the region ends in", nullptr);
  }
  if (done.outcome == Outcome::Bailout) return bail_out_here(done.reason);
  if (done.outcome == Outcome::Return) return execute_last();
  return done.outcome == Outcome::Next ? Advance::Continue : handle_raise(done.outcome == Outcome::Raised);
}

}  // namespace md
