// Every op that is a matrix product, seen as c[batch, m, n] = a[batch, m, k] @ b[batch, k, n] + bias[n].
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "tensor/gemm/onednn.h"

namespace md {

struct MatmulProblem {
  MatmulSpec spec;
  ValueRef a, b;
  ValueRef bias;  // node null: none
};

// Nothing when the node is no such product of floats, or its operands have a layout that no product reads.
std::optional<MatmulProblem> as_matmul(const Node& node);

}  // namespace md
