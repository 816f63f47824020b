// Sliding windows over the last dims of a tensor: shared by convolutions and pools.
#pragma once
#include <array>
#include <span>

#include "tensor/ops/op_row.h"

namespace md {

constexpr int kWindowDims = 3;

// One dim: output position o covers input positions o * stride - padding + k * dilation for 0 <= k < kernel.
struct WindowDim {
  int64_t input = 1, output = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
};

// Three dims, leading ones of size one if the tensor has fewer.
struct WindowGeometry {
  std::array<WindowDim, kWindowDims> dims;
  int64_t input_size() const { return dims[0].input * dims[1].input * dims[2].input; }
  int64_t output_size() const { return dims[0].output * dims[1].output * dims[2].output; }
  int64_t kernel_size() const { return dims[0].kernel * dims[1].kernel * dims[2].kernel; }
};

// The argument of a window op by name, one number per dim.
const DimVec& window_arg(const OpCall& call, const char* name);

}  // namespace md
