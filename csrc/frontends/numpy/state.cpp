#include "frontends/numpy/state.h"

#include <xmmintrin.h>

#include "base/error.h"
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

}  // namespace md::numpy
