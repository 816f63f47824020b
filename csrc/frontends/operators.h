// The ops of Python's operators, in torch's words.
#pragma once
#include "bytecode/binary_operators.h"
#include "tensor/ops/op_row.h"

namespace md {

// Null if there is none. Comparisons: Py_LT .. Py_GE; unary: '-', '~', '+'.
const OpRow* binary_operator_row(const BinaryOperator& op);
const OpRow* compare_operator_row(int py_op);
const OpRow* unary_operator_row(char op);

}  // namespace md
