// The inner loops of the instruction-set level that this processor has.
#pragma once
#include "tensor/simd/loop_table.h"
#include "tensor/simd/pointwise.h"

namespace md {

// The table of the best level that this processor has.
const LoopTable& loops();

// Levels that this processor has, best first; use_instruction_level("baseline") chooses a lower one, for tests.
const char* instruction_level();
void use_instruction_level(const char* name);  // Error(Value) when the processor does not have it

}  // namespace md
