// The windows of a convolution along one of its dims.
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

struct WindowExtent {
  int64_t src, kernel, dst, stride, dilation, padding;
  int64_t span() const { return (kernel - 1) * dilation + 1; }
};

// dim: of the image.
inline WindowExtent extent_of(const ConvolutionSpec& spec, size_t dim) {
  return {spec.src[dim + 2], spec.weights[dim + 2], spec.dst[dim + 2],
          spec.strides[dim], spec.dilations[dim],   spec.padding[dim]};
}

}  // namespace md
