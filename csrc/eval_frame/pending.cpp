#include "eval_frame/pending.h"

#include "base/error.h"
#include "cpython/errors.h"
#include "cpython/stack_room.h"

#include <vector>

namespace md {
namespace {

// Stack needed to create a required frame, whatever the limit for optional ones.
constexpr size_t kLeastStack = 64 * 1024;

class ContinuationHandler : public FrameHandler {
 public:
  explicit ContinuationHandler(const FrameContinuation& continuation) : continuation_(continuation) {}

  PyObject* run(PyThreadState* ts, PvFrame* raw) override {
    LiveFrame frame(ts, raw);
    if (pv_stack_left() < kLeastStack || !frame.enter()) return refuse(ts, raw);
    try {
      if (PyErr_Occurred()) throw PythonError();
      return continuation_(frame);
    } catch (...) {
      set_error_from_current_exception();
      return frame.entered() ? leave_by_throw(frame) : nullptr;
    }
  }

 private:
  // The evaluator may have enough stack where the driver has not, but must not run the frame:
  // its arguments are placeholders.
  static PyObject* refuse(PyThreadState* ts, PvFrame* raw) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
    return run_default(ts, raw, 1);
  }

  const FrameContinuation& continuation_;
};

}  // namespace

Ref call_with_continuation(BorrowedRef function, PyObject* const* arguments, size_t nargsf, PyObject* keyword_names,
                           const FrameContinuation& continuation) {
  // Decoded here, so that nothing can fail between the hook and the link.
  Bytecode::of(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get())));
  ContinuationHandler handler(continuation);
  HookInstallation installation;
  PendingEntry entry(function, handler);
  return Ref::steal(PyObject_Vectorcall(function, arguments, nargsf, keyword_names));
}

struct AwaitedFrame::Parts {
  ContinuationHandler handler;
  HookInstallation installation;
  PendingEntry entry;
  Parts(BorrowedRef function, const FrameContinuation& continuation)
      : handler(continuation), entry(function, handler) {}
};

AwaitedFrame::AwaitedFrame(BorrowedRef function, const FrameContinuation& continuation) {
  Bytecode::of(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get())));
  parts_ = std::make_unique<Parts>(function, continuation);
}
AwaitedFrame::~AwaitedFrame() = default;

namespace {

Ref resume_with_continuation(BorrowedRef function, BorrowedRef generator, const FrameContinuation& continuation) {
  ContinuationHandler handler(continuation);
  HookInstallation installation;
  PendingEntry entry(function, handler);
  PyObject* result = nullptr;
  if (PyIter_Send(generator, Py_None, &result) != PYGEN_NEXT) return Ref::steal(result);
  Py_DECREF(result);
  PyErr_SetString(PyExc_SystemError, "minidynamo: a generator that was to return has yielded");
  return {};
}

}  // namespace

Ref enter_inner_frame(BorrowedRef function, const FrameContinuation& continuation) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()));
  int positional = code->co_argcount;
  int keyword_only = code->co_kwonlyargcount;
  std::vector<PyObject*> arguments(positional + keyword_only + 1, Py_None);
  Ref names;
  if (keyword_only > 0) {
    names = Ref::steal(PyTuple_New(keyword_only));
    if (!names) return {};
    for (int k = 0; k < keyword_only; ++k) {
      PyTuple_SET_ITEM(names.get(), k, Py_NewRef(PyTuple_GET_ITEM(code->co_localsplusnames, positional + k)));
    }
  }
  size_t flagged_count = positional | PY_VECTORCALL_ARGUMENTS_OFFSET;
  if ((code->co_flags & CO_GENERATOR) == 0)
    return call_with_continuation(function, arguments.data() + 1, flagged_count, names, continuation);
  Bytecode::of(code);
  Ref generator = Ref::steal(PyObject_Vectorcall(function, arguments.data() + 1, flagged_count, names));
  return generator ? resume_with_continuation(function, generator, continuation) : Ref();
}

}  // namespace md
