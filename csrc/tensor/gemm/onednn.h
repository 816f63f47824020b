// oneDNN primitives for fixed shapes, without oneDNN's types. Created once, executed by any
// number of threads concurrently.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/gemm/precision.h"

namespace md {

// c[batch, m, n] = a[batch, m, k] @ b[batch, k, n] + bias[n]. Strides are (batch, row, column); the row or column
// stride must be 1; a batch stride of 0 broadcasts.
struct MatmulSpec {
  DType dtype = DType::float32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  std::array<int64_t, 3> a_strides{}, b_strides{}, c_strides{};
  bool has_bias = false;
  bool packs_weights = false;                // b was packed by pack()
  Precision precision = Precision::Float32;  // for float32; with Int8, b was packed
  // SplitMatmul only: the batch as several dims, outermost first, if it has no single stride.
  struct BatchDim {
    int64_t size, a_stride, b_stride;
  };
  std::vector<BatchDim> batch_dims{};
};

// What the machine code and the tables of one primitive take, on average: oneDNN does not tell.
inline constexpr size_t kPrimitiveBytes = 128 * 1024;

class OnednnPrimitive {
 public:
  virtual ~OnednnPrimitive() = default;
  // inputs: in the order documented at the factory. scratchpad: scratchpad_bytes() bytes, 64-byte aligned, exclusive
  // to this call; null if that is 0.
  virtual void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const = 0;
  virtual size_t scratchpad_bytes() const = 0;
  virtual std::string implementation() const = 0;  // "oneDNN brg:avx512_core"
  virtual size_t nbytes() const { return kPrimitiveBytes; }
};
using OnednnPrimitivePtr = std::shared_ptr<const OnednnPrimitive>;

// A primitive that accepts its weights (b of a product) in oneDNN's preferred layout: with packs_weights.
class OnednnPacking : public OnednnPrimitive {
 public:
  virtual size_t packed_bytes() const = 0;
  virtual void pack(const void* weights, void* packed) const = 0;  // weights in the layout of the spec
  virtual std::string packed_layout() const = 0;  // equal texts: the same input yields the same packed bytes
};
using OnednnPackingPtr = std::shared_ptr<const OnednnPacking>;

// One whose weights stay where they are: there is nothing to pack.
class InPlaceWeights : public OnednnPacking {
 public:
  size_t packed_bytes() const final { return 0; }
  void pack(const void* weights, void* packed) const final;
  std::string packed_layout() const final { return ""; }
};

// All return null if oneDNN has no optimised implementation (float64, an unusual layout), and for 16-bit
// floats none of float32 to substitute (widened_primitive.h); results are cached by argument. Inputs: a, b,
// and bias if any; single-threaded.
OnednnPackingPtr make_matmul(const MatmulSpec& spec);
// The same for operands that are already in spec.precision, BFloat16 or Int8: of the latter a is unsigned, b signed,
// and c the int32 sums, without a bias.
OnednnPackingPtr make_narrow_matmul(const MatmulSpec& spec);

// Contiguous tensors: src (N, C, spatial...), weights (O, C / groups, kernel...), transposed ones (C, O / groups,
// kernel...), dst (N, O, spatial...). dilations: 1 is none.
struct ConvolutionSpec {
  DType dtype = DType::float32;
  std::vector<int64_t> src, weights, dst;
  std::vector<int64_t> strides, dilations, padding;
  int64_t groups = 1;
  bool transposed = false, has_bias = false;
  bool packs_weights = false;                // they were packed by pack()
  Precision precision = Precision::Float32;  // for float32; not Int8
  // Whether dim 1 lies last, in memory without gaps; else it is row-major.
  bool src_last = false, weights_last = false, dst_last = false;
  bool is_row_major() const { return !src_last && !weights_last && !dst_last; }
};
// Inputs: src, weights, and bias if any; single-threaded. Tensors are reordered to oneDNN's layouts in the scratchpad.
OnednnPackingPtr make_convolution(const ConvolutionSpec& spec);

// The gradient of the weights of a convolution that is not transposed, in float32. In src and dst of `spec`, which may
// have some of the channels of larger tensors, images are these numbers of elements apart. Inputs: src, and the
// gradient of dst; single-threaded. Null as above.
OnednnPrimitivePtr make_convolution_weights(const ConvolutionSpec& spec, int64_t src_image, int64_t dst_image);

// The bytes of the primitives of pieces; neighbours of the same shape share one.
template <typename Piece, typename PrimitiveOf>
size_t nbytes_of_primitives(const std::vector<Piece>& pieces, PrimitiveOf primitive_of) {
  size_t bytes = 0;
  const OnednnPrimitive* last = nullptr;
  for (const Piece& piece : pieces) {
    const OnednnPrimitive* now = std::invoke(primitive_of, piece).get();
    if (now != last) bytes += now->nbytes();
    last = now;
  }
  return bytes;
}

// Made of the spec; null where it is not ok(): the primitive that it calls is missing.
template <typename Made, typename Spec>
OnednnPackingPtr made_if_ok(const Spec& spec) {
  auto made = std::make_shared<Made>(spec);
  return made->ok() ? made : nullptr;
}

// Empties the cache of primitives; users own what they use.
void drop_primitives();
size_t cached_primitives_bytes();

// Executes with a scratchpad allocated for the call.
void execute(const OnednnPrimitive& primitive, std::span<const void* const> inputs, void* dst);

}  // namespace md
