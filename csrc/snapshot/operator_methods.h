// The special methods behind the operators, in the order in which Python tries them.
#pragma once
#include "bytecode/bytecode.h"
#include "cpython/ref.h"

namespace md {

// Which of them gave a result, the last element of a PushOperator continuation's (left, right, try).
enum class OperatorTry : uint8_t { InPlace, Plain, Reflected };

struct OperatorMethods {
  const char* in_place;   // null: the instruction is not the in-place form
  const char* plain;      // of the left operand
  const char* reflected;  // of the right operand
  const char* sign;       // as in error messages
};
// Of a BINARY_OP or COMPARE_OP.
OperatorMethods operator_methods(const Instruction& at);

// Goes on where a method that was called for the operator gave `result`: the methods after it, TypeError at the end.
// Null: an exception is set.
Ref finish_operator(const Instruction& at, BorrowedRef operands, Ref result);

}  // namespace md
