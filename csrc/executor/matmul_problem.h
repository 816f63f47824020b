// The common form of all matrix products: c[batch, m, n] = a[batch, m, k] @ b[batch, k, n] + bias[n].
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
  ValueRef bias;  // null node: none
};

// nullopt if the node is no such product of floats, or if its operands have an unsupported layout.
std::optional<MatmulProblem> as_matmul(const Node& node);

}  // namespace md
