// A call of a routine of NumPy (HostHooks::run_numpy_routine).
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "tensor/tensor.h"

namespace md {

// One decomposition or solve of a batch of matrices, leading dims first, or one Fourier transform over last dims.
struct NumpyRoutine {
  std::string_view routine;          // name of the op's row
  std::span<const Tensor> operands;  // contiguous, all of one dtype
  std::string_view mode;             // the row's string argument, empty if it has none
  std::optional<double> tolerance;   // the row's number argument
  std::span<Tensor> results;         // contiguous, with the sizes and dtypes of the shape rule; to be filled
};

}  // namespace md
