#include "eval_frame/hook.h"

#include <utility>

namespace md {
namespace {

thread_local PendingEntry* pending_entry = nullptr;
thread_local FrameHandler* ambient_handler = nullptr;
FrameHandler* process_handler = nullptr;

int installations = 0;
PvHook previous_hook = nullptr;
// Somebody installed a hook over this one while it was installed, and so still calls it.
bool is_below_another = false;

}  // namespace

struct HookDispatch {
  // The handler of a new frame, or null.
  static FrameHandler* handler_of(PvFrame* frame) {
    PendingEntry* entry = pending_entry;
    if (entry != nullptr && !entry->taken_ && pv_func(frame) == entry->function_.get()) {
      entry->taken_ = true;
      entry->give_way();
      return &entry->handler_;
    }
    return ambient_handler != nullptr ? ambient_handler : process_handler;
  }

  static PyObject* on_frame(PyThreadState* ts, PvFrame* frame, int throwflag) {
    // generator.throw() and close() raise at the frame's position: the evaluator's.
    if (throwflag)
      return process_handler != nullptr ? process_handler->run_thrown(ts, frame) : run_default(ts, frame, throwflag);
    FrameHandler* handler = handler_of(frame);
    return handler != nullptr ? handler->run(ts, frame) : run_default(ts, frame);
  }
};

PyObject* FrameHandler::run_thrown(PyThreadState* ts, PvFrame* frame) { return run_default(ts, frame, 1); }

FrameHandler* exchange_process_handler(FrameHandler* handler) { return std::exchange(process_handler, handler); }

PyObject* run_default(PyThreadState* ts, PvFrame* frame, int throwflag) {
  return previous_hook != nullptr ? previous_hook(ts, frame, throwflag) : pv_default(ts, frame, throwflag);
}

HookInstallation::HookInstallation() {
  if (installations++ > 0) return;
  PvHook current = pv_installed();
  // Calling a hook that calls this one would never end.
  if (current == HookDispatch::on_frame || (is_below_another && current != nullptr)) return;
  is_below_another = false;
  previous_hook = current;
  pv_install(HookDispatch::on_frame);
}

HookInstallation::~HookInstallation() {
  if (--installations > 0) return;
  if (pv_installed() == HookDispatch::on_frame) {
    pv_install(previous_hook);
    previous_hook = nullptr;
  } else {
    is_below_another = true;
  }
}

AmbientHandler::AmbientHandler(FrameHandler* handler)
    : place_(ambient_handler), previous_(std::exchange(place_, handler)) {}
AmbientHandler::~AmbientHandler() { place_ = previous_; }
FrameHandler* AmbientHandler::current() { return ambient_handler; }

PendingEntry::PendingEntry(BorrowedRef function, FrameHandler& handler)
    : function_(Ref::share(function)),
      handler_(handler),
      place_(pending_entry),
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
