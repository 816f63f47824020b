// Making a real frame of a function and going on in the middle of it: inner frames at a nested break.
#pragma once
#include <memory>

#include "eval_frame/hook.h"
#include "eval_frame/live_frame.h"

namespace md {

// Receives the frame entered and linked: fills locals, stack and position, executes, and leaves it.
// The result is the frame's. May throw PythonError before it has left the frame: the frame then raises at its position.
// Refers to the caller's callable: for use while the call lasts that it is given to.
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

// Calls `function` (a PyFunctionObject) with arguments that only serve to make its frame; None for every parameter,
// nothing for *args and **kwargs. The frame of a generator is that of its first resumption, and the result what it returns.
// Null with the exception set when the frame raised or could not be made.
Ref enter_inner_frame(BorrowedRef function, const FrameContinuation& continuation);

// While one lives the next frame of `function` that this thread enters goes to the continuation, entered and linked, whoever calls
// it. Both must outlive this.
class AwaitedFrame {
 public:
  AwaitedFrame(BorrowedRef function, const FrameContinuation& continuation);
  ~AwaitedFrame();
  AwaitedFrame(const AwaitedFrame&) = delete;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Calls `function` with these arguments; its own frame goes to the continuation, entered and linked.
Ref call_with_continuation(BorrowedRef function, PyObject* const* arguments, size_t nargsf, PyObject* keyword_names,
                           const FrameContinuation& continuation);

}  // namespace md
