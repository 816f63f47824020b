// A call of LAPACK, which comes from outside (HostHooks::run_lapack).
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "tensor/tensor.h"

namespace md {

// One decomposition or solution of a stack of matrices, leading dims first.
struct LapackJob {
  std::string_view routine;          // the name of the op's row
  std::span<const Tensor> operands;  // contiguous, all float32 or all float64
  std::string_view mode;             // the row's text argument, empty if it has none
  std::optional<double> tolerance;   // the row's number argument
  std::span<Tensor> results;         // contiguous, of the sizes and dtypes of the row's shape rule; to be filled
};

}  // namespace md
