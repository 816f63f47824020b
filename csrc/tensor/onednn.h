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
#include "tensor/pointwise.h"

namespace md {

// A pointwise function that a primitive applies to its result before it is stored.
struct PostOp {
  Pointwise function;  // see onednn_has_post_op
  float alpha = 0;     // negative_slope of leaky_relu, alpha of elu
  // Functions of two operands: result = function(result, operand). The operand is seen over the result's dims:
  // an extent of 1 broadcasts. strides in elements; its dtype is the primitive's.
  std::vector<int64_t> sizes, strides;
};
bool onednn_has_post_op(Pointwise function);

// Sizes and strides in elements of one operand.
struct OnednnLayout {
  DType dtype = DType::float32;
  std::vector<int64_t> sizes, strides;
};

// c[batch, m, n] = post_ops(a[batch, m, k] @ b[batch, k, n] + bias[n]). Strides are (batch, row, column), one of row
// and column
// being 1; a batch stride of 0 broadcasts.
struct MatmulSpec {
  DType dtype = DType::float32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  std::array<int64_t, 3> a_strides{}, b_strides{}, c_strides{};
  bool has_bias = false;
  bool packed_b = false;  // b is given as pack_b() made it, in the layout that oneDNN likes best
  std::vector<PostOp> post_ops{};
  int threads = 1;
};

class OnednnPrimitive {
 public:
  virtual ~OnednnPrimitive() = default;
  // inputs in the order of the factory's description, then the second operands of binary post-ops in order.
  // scratchpad: scratchpad_bytes() bytes, 64-byte aligned, this call's own; null when that is 0.
  // In a forked child, where OpenMP has no threads, a primitive for several threads runs as one for a single thread.
  virtual void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const = 0;
  virtual size_t scratchpad_bytes() const = 0;
  virtual int threads() const = 0;
  virtual std::string implementation() const = 0;  // oneDNN's name of it: "brg:avx512_core"
  // Matmul with packed_b only.
  virtual size_t packed_b_bytes() const = 0;
  virtual void pack_b(const void* b, void* packed) const = 0;  // b as b_strides say
};
using MatmulPrimitive = OnednnPrimitive;
using OnednnPrimitivePtr = std::shared_ptr<const OnednnPrimitive>;

// All return null when oneDNN has no optimised implementation (float64, an unusual layout); results are cached by their
// arguments.
// Inputs a, b, bias if any.
OnednnPrimitivePtr make_matmul(const MatmulSpec& spec);
// Input src; function must be one that onednn_has_post_op.
OnednnPrimitivePtr make_eltwise(Pointwise function, float alpha, const OnednnLayout& src, const OnednnLayout& dst,
                                int threads);
// Inputs src0, src1; extents of 1 in src1 broadcast.
OnednnPrimitivePtr make_binary(Pointwise function, const OnednnLayout& src0, const OnednnLayout& src1,
                               const OnednnLayout& dst, std::span<const PostOp> post_ops, int threads);
OnednnPrimitivePtr make_softmax(bool logarithm, int axis, const OnednnLayout& src, const OnednnLayout& dst,
                                int threads);
enum class OnednnReduction : uint8_t { Sum, Mean, Max, Min };
// dst has the rank of src, reduced dims being 1.
OnednnPrimitivePtr make_reduction(OnednnReduction reduction, const OnednnLayout& src, const OnednnLayout& dst,
                                  int threads);

// Over contiguous tensors: src (N, C, spatial...), weights (O, C / groups, kernel...), transposed ones (C, O / groups,
// kernel...), dst (N, O, spatial...). dilations: 1 is none.
struct ConvolutionSpec {
  DType dtype = DType::float32;
  std::vector<int64_t> src, weights, dst;
  std::vector<int64_t> strides, dilations, padding;
  int64_t groups = 1;
  bool transposed = false, has_bias = false;
  int threads = 1;
};
// Inputs src, weights, bias if any. Tensors go through oneDNN's own layouts in the scratchpad.
OnednnPrimitivePtr make_convolution(const ConvolutionSpec& spec);

// Runs with a scratchpad of its own.
void execute(const OnednnPrimitive& primitive, std::span<const void* const> inputs, void* dst);

}  // namespace md
