// Deferred scalar ops: what an exit computes from numbers and text unknown at capture. Pure: runs no user code.
#pragma once
#include <cstdint>
#include <span>

#include "cpython/ref.h"

namespace md {

enum class ScalarOp : uint8_t {
#define MD_SCALAR_OP(name, raises, expression, fixed, on_sizes, compare, in_graph) name,
#include "snapshot/scalar_ops.def"
#undef MD_SCALAR_OP
};

// For which of the accepted operands it raises.
enum class Raises : uint8_t { Never, WithFloats, ByValue };

const char* scalar_op_name(ScalarOp scalar_op);
Raises raises(ScalarOp scalar_op);
// Returns null with an exception set where Python raises (division by zero, too large for a float).
Ref compute(ScalarOp scalar_op, std::span<PyObject* const> parts);

}  // namespace md
