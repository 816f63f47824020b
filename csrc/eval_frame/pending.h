// Creates a real frame of a function and continues in the middle of it: inner frames at a nested break.
#pragma once
#include <memory>

#include "eval_frame/hook.h"
#include "eval_frame/live_frame.h"

namespace md {

// Receives the frame, entered and linked: fills locals, stack and position, executes, and leaves it. Returns the
// frame's result. May throw PythonError before leaving the frame, which then raises at its position. Refers to the
// caller's callable, so it is valid only during the call that it is passed to.
class FrameContinuation {
 public:
  template <typename Callable>
  FrameContinuation(const Callable& callable)
      : callable_(&callable),
        call_([](const void* object, LiveFrame& frame) { return (*static_cast<const Callable*>(object))(frame); }) {}
  PyObject* operator()(LiveFrame& frame) const { return call_(callable_, frame); }

 private:
  const void* callable_;
  PyObject* (*call_)(const void*, LiveFrame&);
};

// Calls `function` (a PyFunctionObject) with placeholder arguments, only to create its frame: None for every parameter,
// nothing for *args and **kwargs. For a generator, the frame is that of its first resumption and the result is its
// return value. Returns null with an exception set if the frame raised or could not be created.
Ref enter_inner_frame(BorrowedRef function, const FrameContinuation& continuation);

// During its lifetime, the next frame of `function` entered by this thread goes to the continuation, entered and
// linked, whoever calls it. Both must outlive this.
class AwaitedFrame {
 public:
  AwaitedFrame(BorrowedRef function, const FrameContinuation& continuation);
  ~AwaitedFrame();
  AwaitedFrame(const AwaitedFrame&) = delete;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Calls `function` with these arguments; its frame goes to the continuation, entered and linked.
Ref call_with_continuation(BorrowedRef function, PyObject* const* arguments, size_t nargsf, PyObject* keyword_names,
                           const FrameContinuation& continuation);

}  // namespace md
