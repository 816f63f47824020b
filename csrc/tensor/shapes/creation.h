// What the rules and kernels of arange and randint share.
#pragma once
#include "tensor/ops/op_row.h"

namespace md {

struct ArangeRange {
  Scalar start, end, step;
};
// Of arange(end) and arange.start_step(start, end, step).
ArangeRange arange_range(const OpCall& call);

struct IntRange {
  int64_t low, high;  // high is not in it
};
// Of randint(high, size), randint.low(low, high, size) and randint_like.
IntRange randint_range(const OpCall& call);

}  // namespace md
