// How the products of a graph are computed: what compile(options={"precision": ..., "weights": ...}) asks for.
#pragma once
#include <vector>

#include "tensor/gemm/precision.h"

namespace md {

struct ReducedPrecision {
  Precision products = Precision::Float32;  // Float32 or BFloat16
  Precision weights = Precision::Float32;   // Float32 or Int8: of products with a weight
  friend bool operator==(const ReducedPrecision&, const ReducedPrecision&) = default;
};

struct ProductRules {
  ReducedPrecision precision = {};
  std::vector<bool> weights = {};  // by graph input: whether it is a weight that may be packed; none if empty
};

}  // namespace md
