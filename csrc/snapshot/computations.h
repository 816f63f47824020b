// Deferred scalar ops: what an exit computes from numbers and text unknown at capture. Pure: runs no user code.
#pragma once
#include <cstdint>
#include <span>

#include "cpython/ref.h"

namespace md {

enum class Computation : uint8_t {
#define MD_COMPUTATION(name, raises, expression) name,
#include "snapshot/computations.def"
#undef MD_COMPUTATION
};

// For which of the accepted operands it raises.
enum class Raises : uint8_t { Never, WithFloats, ByValue };

const char* computation_name(Computation computation);
Raises raises(Computation computation);
// Returns null with an exception set where Python raises (division by zero, too large for a float).
Ref compute(Computation computation, std::span<PyObject* const> parts);

}  // namespace md
