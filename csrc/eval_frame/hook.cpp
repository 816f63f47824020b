#include "eval_frame/hook.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cpython/stack_room.h"
#include "cpython/version_facts.h"
#include "eval_frame/bailout.h"

namespace md {
namespace {

// A frame passed to the hook below, which comes back if that hook was installed over an older installation of this one.
struct PassedOn {
  PvFrame* frame;
  size_t levels;  // number of levels below the hook that has it
};
// Together: each place of a thread is found by a call.
struct HookThread {
  PendingEntry* pending;
  FrameHandler* ambient;
  PassedOn passed_on;
  int needed;  // installations that are not withdrawn
};
thread_local HookThread hook_thread{};
FrameHandler* process_handler = nullptr;
int pauses = 0;
int needed = 0;  // installations of all threads that are not withdrawn

// An installation of this library's hook over `below` (null: the evaluator), with `users` HookInstallations.
struct HookLevel {
  uint64_t number;  // unique
  PvHook below;
  int users;
};
uint64_t levels_made = 0;

// In order of installation. Its capacity is kept: a call with a break allocates nothing here.
std::vector<HookLevel>& hook_levels() {
  static auto* levels = new std::vector<HookLevel>();
  return *levels;
}

}  // namespace

struct HookDispatch {
  // The handler of the pending entry for a new frame; null if there is none.
  static FrameHandler* take_pending(PendingEntry* entry, PvFrame* frame) {
    if (entry == nullptr || entry->taken_ || pv_func(frame) != entry->function_.get()) return nullptr;
    entry->taken_ = true;
    entry->give_way();
    return &entry->handler_;
  }

  static PyObject* on_frame(PyThreadState* ts, PvFrame* frame, int throwflag) {
    const HookThread& thread = hook_thread;
    if (thread.passed_on.frame == frame) return run_default(ts, frame, throwflag);
    if (!throwflag)
      if (FrameHandler* handler = take_pending(thread.pending, frame)) return handler->run(ts, frame);
    if (pv_has_stack_room() == 0) return run_without_hook(ts, frame, throwflag);
    if (is_below_another_hook()) return run_default(ts, frame, throwflag);
    // generator.throw() and close() raise at the frame's position: left to the evaluator.
    if (throwflag)
      return process_handler != nullptr ? process_handler->run_thrown(ts, frame) : run_default(ts, frame, throwflag);
    FrameHandler* handler = thread.ambient != nullptr ? thread.ambient : process_handler;
    return handler != nullptr ? handler->run(ts, frame) : run_default(ts, frame);
  }

  static PyObject* run_without_hook(PyThreadState* ts, PvFrame* frame, int throwflag) {
    note_bailout(Bailout::no_stack, pv_code(frame));
    if (kResumesThroughC && pv_is_generator(frame) != 0) return resume_without_hook(ts, frame, throwflag);
    HookPause pause;
    return run_default(ts, frame, throwflag);
  }

  // A generator is resumed from C code, so the stack ends at some point, with or without the hook.
  static PyObject* resume_without_hook(PyThreadState* ts, PvFrame* frame, int throwflag) {
    int taken = pv_stack_left() < kCaptureStack ? pv_take_room(ts) : 0;
    PyObject* result = run_default(ts, frame, throwflag);
    pv_give_room_back(ts, taken);
    return result;
  }
};

PyObject* FrameHandler::run_thrown(PyThreadState* ts, PvFrame* frame) { return run_default(ts, frame, 1); }

FrameHandler* exchange_process_handler(FrameHandler* handler) { return std::exchange(process_handler, handler); }

bool is_below_another_hook() {
  PvHook current = pv_installed();
  if (current == nullptr || current == HookDispatch::on_frame) return false;
  bool is_out = needed == 0 && !hook_levels().empty() && current == hook_levels().back().below;
  return !is_out;
}

bool hook_is_in() { return pv_installed() == HookDispatch::on_frame; }

bool another_hook_is_there() {
  PvHook current = pv_installed();
  if (current != HookDispatch::on_frame) return current != nullptr;
  return std::ranges::any_of(hook_levels(), [](const HookLevel& level) { return level.below != nullptr; });
}

PyObject* run_default(PyThreadState* ts, PvFrame* frame, int throwflag) {
  PassedOn& passed_on = hook_thread.passed_on;
  const auto& all = hook_levels();
  size_t levels = passed_on.frame == frame ? passed_on.levels : all.size();
  PvHook below = levels > 0 ? all[std::min(levels, all.size()) - 1].below : nullptr;
  if (below == nullptr) return pv_default(ts, frame, throwflag);
  PassedOn outer = std::exchange(passed_on, {frame, levels - 1});
  PyObject* result = below(ts, frame, throwflag);
  passed_on = outer;
  return result;
}

namespace {

// Puts the top level in or takes it out, where `current` is installed. A hook installed over it stays.
void settle(PvHook current) {
  auto& levels = hook_levels();
  if (levels.empty()) return;
  bool is_wanted = pauses == 0 && needed > 0;
  if (is_wanted && current == levels.back().below) pv_install(HookDispatch::on_frame);
  if (!is_wanted && current == HookDispatch::on_frame) pv_install(levels.back().below);
}

}  // namespace

HookInstallation::HookInstallation(Of of) : of_thread_(of == Of::Thread ? &hook_thread.needed : nullptr) {
  auto& levels = hook_levels();
  PvHook current = pv_installed();
  bool is_out = (pauses > 0 || needed == 0) && !levels.empty() && current == levels.back().below;
  if (!is_out && (current != HookDispatch::on_frame || levels.empty())) {
    // Left installed by a hook that was above this one: the hook below is unknown.
    PvHook below = current == HookDispatch::on_frame ? nullptr : current;
    levels.push_back({++levels_made, below, 0});
  }
  level_ = levels.back().number;
  ++levels.back().users;
  ++needed;
  if (of_thread_ != nullptr) ++*of_thread_;
  bool is_settled = current == HookDispatch::on_frame && pauses == 0;
  if (!is_settled) settle(current);
}

HookInstallation::~HookInstallation() {
  --needed;
  if (of_thread_ != nullptr) --*of_thread_;
  auto& levels = hook_levels();
  auto level = std::ranges::find(levels, level_, &HookLevel::number);
  if (--level->users == 0) {
    bool is_top = level + 1 == levels.end();
    if (is_top && pv_installed() == HookDispatch::on_frame) pv_install(level->below);
    levels.erase(level);
  } else if (needed == 0) {
    settle(pv_installed());
  }
}

HookAbsence::HookAbsence() : of_thread_(hook_thread.needed), withdrawn_(std::exchange(of_thread_, 0)) {
  needed -= withdrawn_;
  if (needed == 0) settle(pv_installed());
}

HookAbsence::~HookAbsence() {
  bool was_out = needed == 0;
  needed += withdrawn_;
  of_thread_ += withdrawn_;
  if (was_out) settle(pv_installed());
}

HookPause::HookPause() {
  if (pauses++ == 0) settle(pv_installed());
}

HookPause::~HookPause() {
  if (--pauses == 0) settle(pv_installed());
}

AmbientHandler::AmbientHandler(FrameHandler* handler)
    : place_(hook_thread.ambient), previous_(std::exchange(place_, handler)) {}
AmbientHandler::~AmbientHandler() { place_ = previous_; }
FrameHandler* AmbientHandler::current() { return hook_thread.ambient; }

PendingEntry::PendingEntry(BorrowedRef function, FrameHandler& handler)
    : function_(Ref::share(function)),
      handler_(handler),
      place_(hook_thread.pending),
      previous_(std::exchange(place_, this)) {
  PvHook current = pv_installed();
  if (current == HookDispatch::on_frame) return;
  displaces_ = true;
  displaced_ = current;
  pv_install(HookDispatch::on_frame);
}

PendingEntry::~PendingEntry() {
  give_way();
  place_ = previous_;
}

void PendingEntry::give_way() {
  if (std::exchange(displaces_, false)) pv_install(displaced_);
}

}  // namespace md
