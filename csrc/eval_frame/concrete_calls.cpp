// Calls and function objects.
#include "cpython/object_protocol.h"
#include "eval_frame/concrete_steps.h"

#include <array>

namespace md {
namespace {

// The borrowed arguments of a call, with the free slot in front that vectorcall may use.
class CallArguments {
 public:
  explicit CallArguments(int count) {
    if (count + 1 > static_cast<int>(small_.size())) large_.resize(count + 1);
  }
  void add(BorrowedRef value) { data()[++count_] = value; }
  PyObject* call(BorrowedRef callable, PyObject* keyword_names) {
    size_t keywords = keyword_names != nullptr ? PyTuple_GET_SIZE(keyword_names) : 0;
    return PyObject_Vectorcall(callable, data() + 1, (count_ - keywords) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                               keyword_names);
  }

 private:
  PyObject** data() { return large_.empty() ? small_.data() : large_.data(); }
  size_t count_ = 0;
  std::array<PyObject*, 16> small_;
  std::vector<PyObject*> large_;
};

StepResult finish_call(LiveFrame& f, int operands, PyObject* value) {
  StepResult result = finish(f, operands, value);
  return result.outcome == Outcome::Next ? next_after_pending(f, f.index() + 1) : result;
}

// The stack holds callable and self or NULL, `values` arguments, and `above` more values.
StepResult call(LiveFrame& f, int values, int above, PyObject* keyword_names) {
  BorrowedRef first = f.peek(above + values + 2);
  BorrowedRef second = f.peek(above + values + 1);
  BorrowedRef callable = first ? first : second;
  BorrowedRef self = first ? second : BorrowedRef();
  // On the stack, as the evaluator passes them. The value below the first one may be overwritten during the call.
  if (PyObject** on_stack = f.place_of(above + values + (self ? 1 : 0))) {
    size_t keywords = keyword_names != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(keyword_names)) : 0;
    size_t positional = static_cast<size_t>(values + (self ? 1 : 0)) - keywords;
    return finish_call(
        f, above + values + 2,
        PyObject_Vectorcall(callable, on_stack, positional | PY_VECTORCALL_ARGUMENTS_OFFSET, keyword_names));
  }
  CallArguments arguments(values + 1);
  if (self) arguments.add(self);
  for (int k = values; k > 0; --k) arguments.add(f.peek(above + k));
  return finish_call(f, above + values + 2, arguments.call(callable, keyword_names));
}

}  // namespace

StepResult step_CALL(LiveFrame& f, const Instruction& i) {
  return call(f, i.arg, 0, i.arg2 >= 0 ? f.bytecode().constant(i.arg2).get() : nullptr);
}
StepResult step_CALL_KW(LiveFrame& f, const Instruction& i) { return call(f, i.arg, 1, f.peek(1)); }

StepResult step_CALL_FUNCTION_EX(LiveFrame& f, const Instruction& i) {
  int above = i.arg;
  PyObject* keywords = above ? f.peek(1).get() : nullptr;
  PyObject* positional = f.peek(above + 1);
  // The evaluator names the function in the message that it is not iterable.
  if (Py_TYPE(positional)->tp_iter == nullptr && !PySequence_Check(positional)) return evaluator(f);
  Ref arguments = PyTuple_CheckExact(positional) ? Ref::share(positional) : Ref::steal(PySequence_Tuple(positional));
  if (!arguments) return raised(f);
  BorrowedRef callable = f.peek(kNullAfterCallable ? above + 3 : above + 2);
  return finish_call(f, above + 3, PyObject_Call(callable, arguments, keywords));
}

StepResult step_LIST_TO_TUPLE(LiveFrame& f, const Instruction&) { return finish(f, 1, PyList_AsTuple(f.peek(1))); }

StepResult step_MAKE_FUNCTION(LiveFrame& f, const Instruction& i) {
  Ref function = Ref::steal(pv_make_function(f.peek(1), f.globals()));
  if (!function) return raised(f);
  f.pop();
  for (int flag : {8, 4, 2, 1}) {
    if (i.arg & flag) pv_set_function_attribute(function, flag, f.pop().release());
  }
  f.push(std::move(function));
  return next(f);
}

StepResult step_SET_FUNCTION_ATTRIBUTE(LiveFrame& f, const Instruction& i) {
  Ref function = f.pop();
  pv_set_function_attribute(function, i.arg, f.pop().release());
  f.push(std::move(function));
  return next(f);
}

}  // namespace md
