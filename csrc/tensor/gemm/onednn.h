// oneDNN primitives for fixed shapes, without oneDNN's types. Built once, executed by any number of threads at the same
// time.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace md {

// c[batch, m, n] = a[batch, m, k] @ b[batch, k, n] + bias[n]. Strides are (batch, row, column), one of row and column
// being 1; a batch stride of 0 broadcasts.
struct MatmulSpec {
  DType dtype = DType::float32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  std::array<int64_t, 3> a_strides{}, b_strides{}, c_strides{};
  bool has_bias = false;
  bool packs_weights = false;  // b is given as pack() made it
  // SplitMatmul only: the batch as several dims, outermost first, where no single stride walks it.
  struct BatchDim {
    int64_t size, a_stride, b_stride;
  };
  std::vector<BatchDim> batch_dims{};
};

class OnednnPrimitive {
 public:
  virtual ~OnednnPrimitive() = default;
  // inputs in the order of the factory's description.
  // scratchpad: scratchpad_bytes() bytes, 64-byte aligned, this call's own; null when that is 0.
  virtual void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const = 0;
  virtual size_t scratchpad_bytes() const = 0;
  virtual std::string implementation() const = 0;  // "oneDNN brg:avx512_core"
};
using OnednnPrimitivePtr = std::shared_ptr<const OnednnPrimitive>;

// One that can be given its weights (b of a product) in the layout that oneDNN likes best: with packs_weights.
class OnednnPacking : public OnednnPrimitive {
 public:
  virtual size_t packed_bytes() const = 0;
  virtual void pack(const void* weights, void* packed) const = 0;  // weights as the spec says that they lie
  virtual std::string packed_layout() const = 0;  // equal texts: the same bytes become the same packed ones
};
using OnednnPackingPtr = std::shared_ptr<const OnednnPacking>;

// All return null when oneDNN has no optimised implementation (float64, an unusual layout), of 16-bit floats also none of
// float32 that could stand in (widened_primitive.h); results are cached by their arguments.
// Inputs a, b, bias if any; for one thread.
OnednnPackingPtr make_matmul(const MatmulSpec& spec);

// Over contiguous tensors: src (N, C, spatial...), weights (O, C / groups, kernel...), transposed ones (C, O / groups,
// kernel...), dst (N, O, spatial...). dilations: 1 is none.
struct ConvolutionSpec {
  DType dtype = DType::float32;
  std::vector<int64_t> src, weights, dst;
  std::vector<int64_t> strides, dilations, padding;
  int64_t groups = 1;
  bool transposed = false, has_bias = false;
  bool packs_weights = false;  // they are given as pack() made them
};
// Inputs src, weights, bias if any; for one thread. Tensors go through oneDNN's own layouts in the scratchpad.
OnednnPackingPtr make_convolution(const ConvolutionSpec& spec);

// Runs with a scratchpad of its own.
void execute(const OnednnPrimitive& primitive, std::span<const void* const> inputs, void* dst);

}  // namespace md
