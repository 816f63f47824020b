// All external headers of loops.inl, compiled before a level's target is set: an inline function compiled for one level
// must never become the linker's copy for all.
#pragma once
#include <stdlib.h>

#include <cstdint>
#include <type_traits>

#include "tensor/simd/loop_table.h"
#include "tensor/simd/vector_math.h"

namespace md {

extern const LoopTable kLoopsBaseline;
#if defined(__x86_64__)
extern const LoopTable kLoopsV3;
extern const LoopTable kLoopsV4;
#endif

}  // namespace md
