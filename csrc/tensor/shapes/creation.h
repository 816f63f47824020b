// Shared by the rules and kernels of arange and randint.
#pragma once
#include "tensor/ops/op_row.h"

namespace md {

struct ArangeRange {
  Scalar start, end, step;
};
// For arange(end) and arange.start_step(start, end, step).
ArangeRange arange_range(const OpCall& call);

struct IntRange {
  int64_t low, high;  // high is exclusive
};
// For randint(high, size), randint.low(low, high, size) and randint_like.
IntRange randint_range(const OpCall& call);

}  // namespace md
