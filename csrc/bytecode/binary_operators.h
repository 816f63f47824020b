// The binary operators by argument of BINARY_OP; the second half of the arguments are the in-place forms.
#pragma once
#include "cpython/ref.h"

namespace md {

enum class BinaryCode : uint8_t {
#define MD_BINARY_OPERATOR(name, ...) name,
#include "base/binary_operators.def"
#undef MD_BINARY_OPERATOR
  Count
};
constexpr int kBinaryOperators = static_cast<int>(BinaryCode::Count);

struct BinaryOperator {
  BinaryCode code;
  const char* sign;  // "+"
  // As named in Python's TypeError.
  const char* sign_in_errors;
  const char* in_place_sign;  // "+="
  // Special methods: of the left operand, the reflected one of the right operand, the in-place one.
  const char* method;
  const char* reflected;
  const char* in_place;
  const char* tensor_op;  // name in ops.def, which need not have such a row
  binaryfunc apply;
  binaryfunc apply_in_place;
};

inline bool is_known_binary(int arg) { return arg >= 0 && arg < 2 * kBinaryOperators; }
inline bool is_in_place(int arg) { return arg >= kBinaryOperators; }
const BinaryOperator& binary_operator(BinaryCode code);
inline const BinaryOperator& binary_operator(int arg) {
  return binary_operator(static_cast<BinaryCode>(arg % kBinaryOperators));
}

// Executes BINARY_OP: returns a new reference, or null with an exception set.
inline PyObject* apply_binary(int arg, BorrowedRef left, BorrowedRef right) {
  const BinaryOperator& row = binary_operator(arg);
  return (is_in_place(arg) ? row.apply_in_place : row.apply)(left, right);
}
// Whether the type itself defines the in-place form.
bool has_in_place_form(PyTypeObject* type, BinaryCode code);

}  // namespace md
