#include "eval_frame/continuations.h"

#include "snapshot/operator_methods.h"

namespace md {
namespace {

// How len() converts the result of __len__.
Ref length_from(Ref result) {
  Ref number = Ref::steal(PyNumber_Index(result));
  if (!number) return nullptr;
  int overflow = 0;
  bool negative = PyLong_AsLongAndOverflow(number, &overflow) < 0 && overflow <= 0;
  if (negative) PyErr_SetString(PyExc_ValueError, "__len__() should return >= 0");
  if (negative || (PyLong_AsSsize_t(number) == -1 && PyErr_Occurred() != nullptr)) return nullptr;
  return number;
}

// The result of __bool__; `in` takes the truth of whatever __contains__ returns.
bool is_bool(const WaitingCall& call, BorrowedRef result) {
  if (PyBool_Check(result.get()) || call.at.op == Opcode::CONTAINS_OP) return true;
  PyErr_Format(PyExc_TypeError, "__bool__ should return bool, returned %s", Py_TYPE(result.get())->tp_name);
  return false;
}

bool push_truth(WaitingCall& call, const Ref& result, bool negate) {
  int truth = PyObject_IsTrue(result);
  if (truth < 0) return false;
  call.frame.push(Ref::share((truth != 0) != negate ? Py_True : Py_False));
  return true;
}

bool has_no_continuation() {
  PyErr_SetString(PyExc_SystemError, "minidynamo: an inner frame without a continuation");
  return false;
}

// ---- one function for each row of continuations.def ----

bool continue_None(WaitingCall&, Ref) { return has_no_continuation(); }

bool continue_Hold(WaitingCall&, Ref) { return has_no_continuation(); }

bool continue_Push(WaitingCall& call, Ref result) {
  call.frame.push(std::move(result));
  return true;
}

bool continue_PushCallable(WaitingCall& call, Ref result) {
  if (!kNullAfterCallable) call.frame.push(Ref());
  call.frame.push(std::move(result));
  if (kNullAfterCallable) call.frame.push(Ref());
  return true;
}

bool continue_PushSelf(WaitingCall& call, Ref result) {
  if (result.get() != Py_None) {
    PyErr_Format(PyExc_TypeError, "__init__() should return None, not '%.200s'", Py_TYPE(result.get())->tp_name);
    return false;
  }
  call.frame.push(call.value);
  return true;
}

bool continue_Discard(WaitingCall&, Ref) { return true; }

bool continue_PushOperator(WaitingCall& call, Ref result) {
  result = finish_operator(call.at, call.value.get(), std::move(result));
  if (!result) return false;
  if (call.at.op == Opcode::COMPARE_OP && call.at.arg2 != 0) return push_truth(call, result, false);
  call.frame.push(std::move(result));
  return true;
}

bool continue_PushLength(WaitingCall& call, Ref result) {
  Ref length = length_from(std::move(result));
  if (!length) return false;
  call.frame.push(std::move(length));
  return true;
}

bool continue_PushBool(WaitingCall& call, Ref result) {
  return is_bool(call, result) && push_truth(call, result, false);
}

bool continue_PushNotBool(WaitingCall& call, Ref result) {
  return is_bool(call, result) && push_truth(call, result, true);
}

bool continue_PushTruth(WaitingCall& call, Ref result) { return push_truth(call, result, false); }

bool continue_PushNotTruth(WaitingCall& call, Ref result) { return push_truth(call, result, true); }

bool continue_Jump(WaitingCall& call, Ref result) {
  if (!is_bool(call, result)) return false;
  if ((result.get() == Py_True) == (call.at.op == Opcode::POP_JUMP_IF_TRUE)) call.next = call.at.arg;
  return true;
}

bool continue_NextOrStop(WaitingCall& call, Ref result) { return continue_Push(call, std::move(result)); }

bool continue_PushIterator(WaitingCall& call, Ref result) {
  if (!PyIter_Check(result.get())) {
    PyErr_Format(PyExc_TypeError, "iter() returned non-iterator of type '%.100s'", Py_TYPE(result.get())->tp_name);
    return false;
  }
  call.frame.push(std::move(result));
  return true;
}

constexpr bool (*kContinue[])(WaitingCall& call, Ref result) = {
#define MD_CONTINUATION(name, doc) continue_##name,
#include "snapshot/continuations.def"
#undef MD_CONTINUATION
};

}  // namespace

bool take_result(ContinuationKind kind, WaitingCall& call, Ref result) {
  return kContinue[static_cast<int>(kind)](call, std::move(result));
}

}  // namespace md
