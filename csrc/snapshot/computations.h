// What an exit works out from numbers and text that are not known while capturing. Pure: nothing here runs the user's code.
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

// For which parts of the types that it takes it raises.
enum class Raises : uint8_t { Never, WithFloats, ByValue };

const char* computation_name(Computation computation);
Raises raises(Computation computation);
// Null with an exception where Python raises (division by zero, too large for a float).
Ref compute(Computation computation, std::span<PyObject* const> parts);

}  // namespace md
