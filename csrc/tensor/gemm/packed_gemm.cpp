#include "tensor/gemm/packed_gemm.h"

#include <algorithm>

#include "base/error.h"
#include "base/rounding.h"
#include "tensor/gemm/gemm.h"
#include "tensor/simd/loops.h"
#include "tensor/storage.h"

namespace md {
namespace {

// Packed layout: block after block of k, each with the strips of all columns.
class PackedGemm final : public OnednnPacking {
 public:
  explicit PackedGemm(const MatmulSpec& spec) : spec_(spec), loops_(loops().f32.gemm) {}

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    MD_ASSERT(inputs.size() == (spec_.has_bias ? 3u : 2u), "a packed product got ", inputs.size(), " inputs");
    const auto* packed = static_cast<const float*>(inputs[1]);
    GemmBlock<float> block{.m = spec_.m,
                           .n = spec_.n,
                           .depth = 0,
                           .a = static_cast<const float*>(inputs[0]),
                           .a_row = spec_.a_strides[1],
                           .a_step = spec_.a_strides[2],
                           .packed_a = static_cast<float*>(scratchpad),
                           .b = packed,
                           .b_row = loops_.strip,
                           .b_is_packed = true,
                           .c = static_cast<float*>(dst),
                           .c_row = spec_.c_strides[1],
                           .add = false};
    for (int64_t p = 0; p < spec_.k; p += kGemmDepth, block.add = true) {
      block.depth = std::min(spec_.k - p, kGemmDepth);
      loops_.rows(block);
      block.a += block.depth * block.a_step;
      block.b += block.depth * columns();
    }
    if (spec_.has_bias) add_bias(spec_.m, spec_.n, static_cast<const float*>(inputs[2]), block.c, block.c_row);
  }

  size_t scratchpad_bytes() const override {
    return static_cast<size_t>(std::min(spec_.m, kGemmRows) * std::min(spec_.k, kGemmDepth)) * sizeof(float);
  }
  std::string implementation() const override { return "own blocks"; }
  size_t nbytes() const override { return sizeof(*this); }
  size_t packed_bytes() const override { return static_cast<size_t>(columns() * spec_.k) * sizeof(float); }
  std::string packed_layout() const override {
    return str_cat("strips ", spec_.k, "x", spec_.n, " by ", spec_.b_strides[1], ",", spec_.b_strides[2]);
  }
  void pack(const void* weights, void* packed) const override {
    const auto* from = static_cast<const float*>(weights);
    auto* to = static_cast<float*>(packed);
    for (int64_t p = 0; p < spec_.k; p += kGemmDepth) {
      int64_t depth = std::min(spec_.k - p, kGemmDepth);
      loops_.pack_columns(from + p * spec_.b_strides[1], spec_.b_strides[1], spec_.b_strides[2], depth, spec_.n, to);
      to += depth * columns();
    }
  }

 private:
  int64_t columns() const { return round_up(spec_.n, loops_.strip); }

  MatmulSpec spec_;
  const GemmLoops<float>& loops_;
};

}  // namespace

OnednnPackingPtr make_packed_gemm(const MatmulSpec& spec) {
  if (!spec.packs_weights || spec.dtype != DType::float32 || spec.batch != 1 || spec.c_strides[2] != 1) return nullptr;
  return std::make_shared<PackedGemm>(spec);
}

}  // namespace md
