// The PEP 523 hook: which frames come to this library, and who handles them. Requires the GIL. In this order:
// 1. a frame of the function named by the innermost pending entry of this thread: that entry
// 2. while another library's hook is above this one: the hook below, or the evaluator
// 3. any other new frame, while this thread has an ambient handler: that handler
// 4. any other frame, while there is a process-wide handler: that handler
// 5. the hook below, or the evaluator
// If the C stack runs short, only the first and the last apply. Other libraries install hooks over this one and
// remove them at any time: TorchDynamo does so around each call of a function that it compiles. Frames called by the
// program go to their hook first.
#pragma once
#include <cstdint>

#include "cpython/frame.h"
#include "cpython/ref.h"

namespace md {

// Runs a frame passed to the hook and is responsible for leaving it: through LiveFrame, or run_default.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  // Returns the frame's result: a new reference, or null with an exception set. Must not throw.
  virtual PyObject* run(PyThreadState* ts, PvFrame* frame) = 0;
  // The same for a generator resumed by throw() or close(): an exception is set, to be raised at its position. Called
  // only on the process-wide handler.
  virtual PyObject* run_thrown(PyThreadState* ts, PvFrame* frame);
};

// Whether another library's hook is currently the interpreter's evaluator. Frames called meanwhile are not captured.
bool is_below_another_hook();
// Whether another hook exists, above this one or below: it must see the frames that this library does not handle.
bool another_hook_is_there();

// Runs the frame as it would run without this library.
PyObject* run_default(PyThreadState* ts, PvFrame* frame, int throwflag = 0);

// The hook slows down every Python call of the process, so it is installed only while one of these lives, and moved
// above all others when one is created.
class HookInstallation {
 public:
  // Of a thread: a HookAbsence there withdraws it. Of the process: none does.
  enum class Of : uint8_t { Thread, Process };
  explicit HookInstallation(Of of = Of::Thread);
  ~HookInstallation();
  HookInstallation(const HookInstallation&) = delete;
  HookInstallation& operator=(const HookInstallation&) = delete;

 private:
  uint64_t level_;
  int* of_thread_;  // the thread's number of installations that are not withdrawn; null: of the process
};

// During its lifetime, the installations that this thread has made before do not need the hook. It is out unless an
// installation of another thread, or a later one, needs it.
class HookAbsence {
 public:
  HookAbsence();
  ~HookAbsence();
  HookAbsence(const HookAbsence&) = delete;
  HookAbsence& operator=(const HookAbsence&) = delete;

 private:
  int& of_thread_;
  int withdrawn_;
};
// Whether this library's hook is the interpreter's evaluator.
bool hook_is_in();

// While one lives, this library only receives frames of pending entries, and Python-to-Python calls need no C stack.
// Process-wide, since the interpreter has one hook for all threads.
class HookPause {
 public:
  HookPause();
  ~HookPause();
  HookPause(const HookPause&) = delete;
  HookPause& operator=(const HookPause&) = delete;
};

// During its lifetime, frames of this thread without a pending entry go to `handler` (null: to the evaluator).
class AmbientHandler {
 public:
  explicit AmbientHandler(FrameHandler* handler);
  ~AmbientHandler();
  AmbientHandler(const AmbientHandler&) = delete;
  AmbientHandler& operator=(const AmbientHandler&) = delete;
  static FrameHandler* current();

 private:
  FrameHandler*& place_;  // of this thread
  FrameHandler* previous_;
};

// Sets the handler of all threads, tried after the others; null: none. Returns the previous one.
FrameHandler* exchange_process_handler(FrameHandler* handler);

// During its lifetime, the next frame of `function` in this thread goes to `handler`, once; also if another hook, or
// none, has been installed in place of this one.
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
  PendingEntry*& place_;  // of this thread
  PendingEntry* previous_;
  bool taken_ = false;
  PvHook displaced_ = nullptr;  // the hook that is replaced until the frame arrives
  bool displaces_ = false;
  void give_way();
};

}  // namespace md
