// Binary operators with the interpreter as their caller. A library may compute into the memory of an operand that
// only the stack references, but only if the C stack shows that the evaluator has called it (NumPy, from 256 KiB on).
#pragma once
#include "cpython/ref.h"

namespace md {

// Whether an operand may be such a temporary; the references are those of the value stack.
bool may_reuse_operand(int operator_arg, BorrowedRef left, BorrowedRef right);
// BINARY_OP, executed by the evaluator in a frame that nothing sees. Null: an exception is set.
Ref apply_in_evaluator(PyThreadState* ts, int operator_arg, Ref left, Ref right);

}  // namespace md
