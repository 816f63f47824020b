// All external headers of the loops, compiled before a level's target is set: an inline function compiled for one level
// must never become the linker's copy for all.
#pragma once
#include <stdlib.h>

#include <cstdint>
#include <type_traits>

#include "tensor/simd/loop_table.h"
#include "tensor/simd/vector_math.h"

namespace md {

// A level's loops: parts, each compiled in a file of its own, since together they take long.
#define MD_LEVEL_PARTS(level)                    \
  namespace level {                              \
  extern const PointwiseTable float_pointwise;   \
  extern const PointwiseTable integer_pointwise; \
  extern const PointwiseTable complex_pointwise; \
  extern const ComplexLoops<float> f32_complex;  \
  extern const ComplexLoops<double> f64_complex; \
  extern const ConvertTable conversions;         \
  extern const OrderLoops order;                 \
  extern const FourierTable fourier;             \
  extern const LaneTable lanes;                  \
  extern const SpecialTable specials;            \
  extern const LoopTable table;                  \
  }

MD_LEVEL_PARTS(level_baseline)
#if defined(__x86_64__)
MD_LEVEL_PARTS(level_v3)
MD_LEVEL_PARTS(level_v4)
#endif
#undef MD_LEVEL_PARTS

}  // namespace md
