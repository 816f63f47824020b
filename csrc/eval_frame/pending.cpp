#include "eval_frame/pending.h"

#include "base/error.h"
#include "cpython/errors.h"

#include <vector>

namespace md {
namespace {

class ContinuationHandler : public FrameHandler {
 public:
  explicit ContinuationHandler(const FrameContinuation& continuation) : continuation_(continuation) {}

  PyObject* run(PyThreadState* ts, PvFrame* raw) override {
    LiveFrame frame(ts, raw);
    if (!frame.enter()) return run_default(ts, raw);
    try {
      if (PyErr_Occurred()) throw PythonError();
      return continuation_(frame);
    } catch (...) {
      set_error_from_current_exception();
      return frame.entered() ? leave_by_throw(frame) : nullptr;
    }
  }

 private:
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
  return call_with_continuation(function, arguments.data() + 1, positional | PY_VECTORCALL_ARGUMENTS_OFFSET, names,
                                continuation);
}

}  // namespace md
