// Maps callables to ops. Filled once by bindings from the variants in the op table.
#pragma once
#include "bytecode/binary_operators.h"
#include "cpython/ref.h"
#include "tensor/ops/op_row.h"

namespace md {

// A function object (minidynamo.add) or an unbound method (Tensor.add) and its row.
void register_op_callable(BorrowedRef callable, const OpRow* row);  // owned: lives as long as the module
const OpRow* find_op_callable(BorrowedRef callable);                // nullptr: not an op
// The method Tensor.f_ of a row with an in-place variant (kInPlace).
void register_in_place_callable(BorrowedRef callable, const OpRow* row);  // owned
const OpRow* find_in_place_callable(BorrowedRef callable);                // nullptr: none

// Operators: the binary ones, Py_LT .. Py_GE, and '-', '~', '+' for the unary ones. nullptr if there is none.
const OpRow* binary_operator_row(const BinaryOperator& op);
const OpRow* compare_operator_row(int py_op);
const OpRow* unary_operator_row(char op);

}  // namespace md
