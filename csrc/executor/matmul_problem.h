// Every op that is a matrix product, seen as c[batch, m, n] = a[batch, m, k] @ b[batch, k, n] + bias[n].
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "tensor/onednn.h"

namespace md {

struct MatmulProblem {
  MatmulSpec spec;
  ValueRef a, b;
  ValueRef bias;  // node null: none
  std::array<int, 2>
      splits;  // the result's dims: [0, splits[0]) are the batch, [splits[0], splits[1]) rows, then columns
};

// Nothing when the node is no such product, or of a kind that its eager kernel does better.
std::optional<MatmulProblem> as_matmul(const Node& node);

// The operand as it broadcasts over [batch, m, n] of the problem: extents (1 where it is repeated) and strides.
// Nothing when it is repeated over some of the dims that were merged into one.
struct MergedOperand {
  std::vector<int64_t> sizes, strides;
};
std::optional<MergedOperand> merge_operand(const TensorSpec& operand, const TensorSpec& result,
                                           std::array<int, 2> splits);

}  // namespace md
