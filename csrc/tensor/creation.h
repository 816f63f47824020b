// What arange's rule and kernel share.
#pragma once
#include "tensor/op_row.h"

namespace md {

struct ArangeRange {
  Scalar start, end, step;
};
// Of arange(end) and arange.start_step(start, end, step).
ArangeRange arange_range(const OpCall& call);

}  // namespace md
