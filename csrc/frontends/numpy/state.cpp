#include "frontends/numpy/state.h"

#include <xmmintrin.h>

#include <utility>

#include "base/error.h"
#include "cpython/errors.h"
#include "frontends/numpy/library.h"

namespace md::numpy {
namespace {

constexpr const char kCapsuleName[] = "numpy.ufunc.extobj";

// Three bits of the state for each exception: 0 ignores it (NumPy's UFUNC_SHIFT_* and UFUNC_ERR_*).
struct Exception {
  const char* name;
  int shift;
  uint32_t flag;
};
constexpr Exception kExceptions[] = {{"divide", 0, _MM_EXCEPT_DIV_ZERO},
                                     {"over", 3, _MM_EXCEPT_OVERFLOW},
                                     {"under", 6, _MM_EXCEPT_UNDERFLOW},
                                     {"invalid", 9, _MM_EXCEPT_INVALID}};
constexpr const char* kActions[] = {"ignore", "warn", "raise", "call", "print", "log"};

size_t action(const Exception& exception, uint64_t word) { return word >> exception.shift & 7; }

}  // namespace

StateWords state() {
  PyObject* value = nullptr;
  if (PyContextVar_Get(library().error_state, nullptr, &value) != 0) throw PythonError();
  Ref capsule = Ref::steal(value);
  // NumPy's struct starts with an int that has the actions.
  auto* mask = capsule ? static_cast<int*>(PyCapsule_GetPointer(capsule, kCapsuleName)) : nullptr;
  if (mask == nullptr) throw PythonError();
  return {static_cast<uint64_t>(*mask)};
}

bool can_read_state() {
  PyObject* value = nullptr;
  if (PyContextVar_Get(library().error_state, nullptr, &value) != 0) throw PythonError();
  Ref capsule = Ref::steal(value);
  return capsule && PyCapsule_IsValid(capsule, kCapsuleName) != 0;
}

std::string state_text(const StateWords& words) {
  std::string text;
  for (const Exception& each : kExceptions) {
    size_t at = action(each, words[0]);
    text += str_cat(text.empty() ? "" : " ", "numpy_", each.name, "=", at < std::size(kActions) ? kActions[at] : "?");
  }
  return text;
}

std::string state_difference(const StateWords& expected, const StateWords& now) {
  std::string text;
  for (const Exception& each : kExceptions)
    if (action(each, expected[0]) != action(each, now[0])) text += str_cat(" numpy_", each.name);
  return text;
}

const char* unusual_state() {
  bool sees_underflow = (watched_flags(state()) & _MM_EXCEPT_UNDERFLOW) != 0;
  return sees_underflow ? "numpy.errstate(under=...) does not ignore underflows" : nullptr;
}

uint32_t watched_flags(const StateWords& words) {
  uint32_t flags = 0;
  for (const Exception& each : kExceptions)
    if (action(each, words[0]) != 0) flags |= each.flag;
  return flags;
}

namespace {

// The state in which all exceptions raise that are not ignored in `state`. The last one is kept.
Ref raising_state(const Ref& state) {
  static PyObject *made_of = nullptr, *made = nullptr;
  if (made_of == state.get()) return Ref::share(made);
  uint64_t word = static_cast<uint64_t>(*static_cast<int*>(PyCapsule_GetPointer(state, kCapsuleName)));
  Ref actions = check(PyDict_New());
  for (const Exception& each : kExceptions) {
    Ref action_now = check(PyUnicode_FromString(action(each, word) == 0 ? "ignore" : "raise"));
    check_status(PyDict_SetItemString(actions, each.name, action_now));
  }
  Ref none = check(PyTuple_New(0));
  Ref raising = check(PyObject_Call(library().make_error_state, none, actions));
  Py_XDECREF(std::exchange(made, Py_NewRef(raising.get())));
  Py_XDECREF(std::exchange(made_of, Py_NewRef(state.get())));
  return raising;
}

}  // namespace

Ref call_raising(BorrowedRef function, PyObject* const* arguments, size_t positional, BorrowedRef keyword_names) {
  PyObject* value = nullptr;
  if (PyContextVar_Get(library().error_state, nullptr, &value) != 0) throw PythonError();
  Ref now = Ref::steal(value);
  Ref token = check(PyContextVar_Set(library().error_state, raising_state(now)));
  Ref result = Ref::steal(PyObject_Vectorcall(function, arguments, positional, keyword_names));
  ErrorAside raised;
  check_status(PyContextVar_Reset(library().error_state, token));
  return result;
}

}  // namespace md::numpy
