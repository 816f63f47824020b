#include "tensor/gemm/widened_primitive.h"

#include <numeric>

#include "base/error.h"
#include "tensor/gemm/operand_copy.h"
#include "tensor/storage.h"

namespace md {
namespace {

constexpr size_t kAlignment = 64;

// An operand, and the place of its float32 copy in the scratchpad, in bytes.
struct WideCopy : OperandCopy {
  size_t at = 0;
  size_t wide_bytes() const { return static_cast<size_t>(numel()) * sizeof(float); }
};

WideCopy contiguous(const std::vector<int64_t>& sizes) {
  return {{.length = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>())}};
}

class WidenedPrimitive final : public OnednnPacking {
 public:
  WidenedPrimitive(OnednnPackingPtr wide, DType dtype, std::vector<WideCopy> inputs, WideCopy dst, bool has_packed)
      : wide_(std::move(wide)), dtype_(dtype), inputs_(std::move(inputs)), dst_(dst), has_packed_(has_packed) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!is_packed(i)) place(inputs_[i]);
    }
    place(dst_);
  }

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    MD_ASSERT(inputs.size() == inputs_.size() && inputs.size() <= kMostInputs, "too many inputs");
    auto* memory = static_cast<std::byte*>(scratchpad);
    const void* wide_inputs[kMostInputs];
    for (size_t i = 0; i < inputs.size(); ++i)
      wide_inputs[i] = is_packed(i) ? inputs[i] : widen(inputs_[i], inputs[i], memory + inputs_[i].at);
    std::byte* result = memory + dst_.at;
    wide_->execute({wide_inputs, inputs.size()}, result, wide_->scratchpad_bytes() > 0 ? memory + own_bytes_ : nullptr);
    narrow(result, dst);
  }

  size_t scratchpad_bytes() const override { return own_bytes_ + wide_->scratchpad_bytes(); }
  std::string implementation() const override { return wide_->implementation() + " of float32"; }
  size_t packed_bytes() const override { return wide_->packed_bytes(); }
  std::string packed_layout() const override {
    return str_cat(row(dtype_).name, " by ", inputs_[1].line_stride, ":", wide_->packed_layout());
  }
  void pack(const void* weights, void* packed) const override {
    StoragePtr memory = Storage::allocate(inputs_[1].wide_bytes());
    wide_->pack(widen(inputs_[1], weights, static_cast<std::byte*>(memory->data())), packed);
  }

 private:
  static constexpr size_t kMostInputs = 3, kWeights = 1;

  bool is_packed(size_t input) const { return has_packed_ && input == kWeights; }
  void place(WideCopy& copy) {
    copy.at = own_bytes_;
    own_bytes_ += (copy.wide_bytes() + kAlignment - 1) / kAlignment * kAlignment;
  }

  const void* widen(const WideCopy& copy, const void* from, std::byte* to) const {
    copy.convert(dtype_, from, DType::float32, to);
    return to;
  }
  void narrow(const std::byte* from, void* to) const { dst_.convert_back(DType::float32, from, dtype_, to); }

  OnednnPackingPtr wide_;
  DType dtype_;
  std::vector<WideCopy> inputs_;
  WideCopy dst_;
  bool has_packed_;
  size_t own_bytes_ = 0;
};

bool is_narrow_float(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

}  // namespace

OnednnPackingPtr make_widened_matmul(const MatmulSpec& spec) {
  if (!is_narrow_float(spec.dtype)) return nullptr;
  MatmulSpec wide = spec;
  wide.dtype = DType::float32;
  std::vector<WideCopy> inputs = {{OperandCopy::of_matrices(spec.batch, spec.m, spec.k, wide.a_strides)},
                                  {OperandCopy::of_matrices(spec.batch, spec.k, spec.n, wide.b_strides)}};
  if (spec.has_bias) inputs.push_back({{.length = spec.n}});
  WideCopy dst = {OperandCopy::of_matrices(spec.batch, spec.m, spec.n, wide.c_strides)};
  OnednnPackingPtr primitive = make_matmul(wide);
  if (primitive == nullptr) return nullptr;
  return std::make_shared<WidenedPrimitive>(primitive, spec.dtype, std::move(inputs), dst, spec.packs_weights);
}

OnednnPackingPtr make_widened_convolution(const ConvolutionSpec& spec) {
  if (!is_narrow_float(spec.dtype) || !spec.is_row_major()) return nullptr;
  ConvolutionSpec wide = spec;
  wide.dtype = DType::float32;
  std::vector<WideCopy> inputs = {contiguous(spec.src), contiguous(spec.weights)};
  if (spec.has_bias) inputs.push_back({{.length = spec.dst[1]}});
  OnednnPackingPtr primitive = make_convolution(wide);
  if (primitive == nullptr) return nullptr;
  return std::make_shared<WidenedPrimitive>(primitive, spec.dtype, std::move(inputs), contiguous(spec.dst),
                                            spec.packs_weights);
}

}  // namespace md
