// The PEP 523 hook: which frames come to this library, and to whom. All under the GIL.
//   1. a frame of the function that the innermost pending entry of this thread names: to that entry
//   2. while another library's hook is over this one: to the hook below, or the evaluator
//   3. any other new frame, while this thread has an ambient handler: to that handler
//   4. any other frame, while there is a handler of the process: to that handler
//   5. the hook below, or the evaluator
// Where the C stack runs short only the first and the last hold.
// Other libraries have hooks of their own, and put them over this one and take them away at any time: TorchDynamo does so around
// each call of a function that it compiles. Frames that the program calls are then theirs first.
#pragma once
#include <cstdint>

#include "cpython/frame.h"
#include "cpython/ref.h"

namespace md {

// Runs a frame that the hook was given and answers for leaving it: through LiveFrame, or run_default.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  // The result is the frame's: an owned value, or null with an exception set. Must not throw.
  virtual PyObject* run(PyThreadState* ts, PvFrame* frame) = 0;
  // The same for a generator that is resumed by throw() or close(): an exception is set, to be raised where it stands. Asked of the
  // handler of the process only.
  virtual PyObject* run_thrown(PyThreadState* ts, PvFrame* frame);
};

// Whether another library's hook is the interpreter's evaluator now. What is called meanwhile is not looked into.
bool is_below_another_hook();
// Whether there is one, over this one or below: it is to see the frames in which this library has nothing to do.
bool another_hook_is_there();

// What would have run the frame without this library.
PyObject* run_default(PyThreadState* ts, PvFrame* frame, int throwflag = 0);

// The hook taxes every Python call of the process: it is installed while one of these lives, and over all others when one is made.
class HookInstallation {
 public:
  HookInstallation();
  ~HookInstallation();
  HookInstallation(const HookInstallation&) = delete;
  HookInstallation& operator=(const HookInstallation&) = delete;

 private:
  uint64_t level_;
};

// No frame comes to this library but those of pending entries while one lives, and a Python function that calls another needs no C
// stack for it. Of the process, since the interpreter has one hook for all threads.
class HookPause {
 public:
  HookPause();
  ~HookPause();
  HookPause(const HookPause&) = delete;
  HookPause& operator=(const HookPause&) = delete;
};

// Frames of this thread that have no pending entry go to `handler` (null: to the evaluator) while this lives.
class AmbientHandler {
 public:
  explicit AmbientHandler(FrameHandler* handler);
  ~AmbientHandler();
  AmbientHandler(const AmbientHandler&) = delete;
  AmbientHandler& operator=(const AmbientHandler&) = delete;
  static FrameHandler* current();

 private:
  FrameHandler*& place_;  // this thread's
  FrameHandler* previous_;
};

// The handler of every thread, after the others; null: none. Returns the one before.
FrameHandler* exchange_process_handler(FrameHandler* handler);

// The next frame of `function` in this thread goes to `handler`, once, while this lives; also where somebody has put another hook,
// or none, in the place of this one.
class PendingEntry {
 public:
  PendingEntry(BorrowedRef function, FrameHandler& handler);
  ~PendingEntry();
  PendingEntry(const PendingEntry&) = delete;
  PendingEntry& operator=(const PendingEntry&) = delete;
  bool taken() const { return taken_; }

 private:
  friend struct HookDispatch;
  Ref function_;
  FrameHandler& handler_;
  PendingEntry*& place_;  // this thread's
  PendingEntry* previous_;
  bool taken_ = false;
  PvHook displaced_ = nullptr;  // the hook that makes way until the frame is there
  bool displaces_ = false;
  void give_way();
};

}  // namespace md
