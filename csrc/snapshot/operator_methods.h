// The special methods behind the operators, in the order in which Python tries them.
#pragma once
#include "bytecode/bytecode.h"
#include "cpython/ref.h"

namespace md {

// Which of them is being called; the last element of a PushOperator continuation's (left, right, try).
enum class OperatorTry : uint8_t { InPlace, Plain, Reflected };

struct OperatorMethods {
  const char* in_place;   // null: not an in-place instruction
  const char* plain;      // of the left operand
  const char* reflected;  // of the right operand
  const char* sign;       // as in error messages
};
// For a BINARY_OP or COMPARE_OP.
OperatorMethods operator_methods(const Instruction& at);

// Continues after a method called for the operator returned `result`: tries the remaining methods, then raises
// TypeError. Returns null with an exception set.
Ref finish_operator(const Instruction& at, BorrowedRef operands, Ref result);

}  // namespace md
