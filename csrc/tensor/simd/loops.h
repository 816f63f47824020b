// The inner loops of the instruction-set level that this processor has.
#pragma once
#include <type_traits>

#include "tensor/simd/loop_table.h"
#include "tensor/simd/pointwise.h"

namespace md {

// The table of the best level that this processor has.
const LoopTable& loops();
// Its loops of float or double.
template <typename T>
const FloatLoops<T>& loops_of() {
  if constexpr (std::is_same_v<T, float>) {
    return loops().f32;
  } else {
    return loops().f64;
  }
}

// Levels that this processor has, best first; use_instruction_level("baseline") chooses a lower one, for tests.
const char* instruction_level();
void use_instruction_level(const char* name);  // Error(Value) when the processor does not have it

}  // namespace md
