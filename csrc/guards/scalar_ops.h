// Deferred scalar ops: what an exit computes from numbers and text unknown at capture. Pure: runs no user code.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "cpython/ref.h"

namespace md {

enum class ScalarOp : uint8_t {
#define MD_SCALAR_OP(name, sign, raises, expression, fixed, on_sizes, compare, in_graph) name,
#include "guards/scalar_ops.def"
#undef MD_SCALAR_OP
};

// For which of the accepted operands it raises. ByType: or returns another type.
enum class Raises : uint8_t { Never, WithFloats, ByValue, ByType };

const char* scalar_op_name(ScalarOp scalar_op);
// `(a + b)`, `abs(a)`.
std::string scalar_op_text(ScalarOp scalar_op, std::span<const std::string> operands);
Raises raises(ScalarOp scalar_op);
// Returns null with an exception set where Python raises (division by zero, too large for a float), and where the
// result would be too large to be computed ahead of the program.
Ref compute(ScalarOp scalar_op, std::span<PyObject* const> parts);

}  // namespace md
