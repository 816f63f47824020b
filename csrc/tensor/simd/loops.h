// The inner loops of this processor's instruction-set level.
#pragma once
#include <type_traits>

#include "tensor/simd/loop_table.h"
#include "tensor/simd/pointwise.h"

namespace md {

// The table of the best level that this processor supports.
const LoopTable& loops();
// The loops for float or double.
template <typename T>
const FloatLoops<T>& loops_of() {
  if constexpr (std::is_same_v<T, float>) {
    return loops().f32;
  } else {
    return loops().f64;
  }
}

// The loops for complex numbers of float or double.
template <typename T>
const ComplexLoops<T>& complex_loops_of() {
  if constexpr (std::is_same_v<T, float>) {
    return *loops().f32_complex;
  } else {
    return *loops().f64_complex;
  }
}

// The loops of decompositions, for float or double.
template <typename T>
const FactorLoops<T>& factor_loops_of() {
  if constexpr (std::is_same_v<T, float>) {
    return loops().f32_factors;
  } else {
    return loops().f64_factors;
  }
}

// Levels supported by this processor, best first; use_instruction_level("baseline") selects a lower one, for tests.
const char* instruction_level();
void use_instruction_level(const char* name);  // Error(Value) if the processor does not support it

}  // namespace md
