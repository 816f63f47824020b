#include "tensor/gemm/widened_primitive.h"

#include <numeric>

#include "base/error.h"
#include "tensor/simd/loops.h"
#include "tensor/storage.h"

namespace md {
namespace {

constexpr size_t kAlignment = 64;

// Rows of elements, and their float32 copies, consecutive in the scratchpad.
struct WideCopy {
  int64_t matrices = 1, lines = 1, length = 0;
  int64_t matrix_stride = 0, line_stride = 0;
  size_t at = 0;  // byte offset in the scratchpad
  int64_t numel() const { return matrices * lines * length; }
  size_t wide_bytes() const { return static_cast<size_t>(numel()) * sizeof(float); }
};

WideCopy contiguous(const std::vector<int64_t>& sizes) {
  return {.length = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>())};
}

// Also sets the strides of the float32 copy.
WideCopy matrices(int64_t batch, int64_t rows, int64_t columns, std::array<int64_t, 3>& strides) {
  bool by_rows = strides[2] == 1 || columns == 1;
  WideCopy copy = {.matrices = strides[0] == 0 ? 1 : batch,
                   .lines = by_rows ? rows : columns,
                   .length = by_rows ? columns : rows,
                   .matrix_stride = strides[0],
                   .line_stride = by_rows ? strides[1] : strides[2]};
  int64_t apart = copy.matrix_stride == 0 ? 0 : rows * columns;
  strides = by_rows ? std::array<int64_t, 3>{apart, columns, 1} : std::array<int64_t, 3>{apart, 1, rows};
  return copy;
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

  // f(first element of a 16-bit row, first element of its float32 copy)
  template <typename F>
  static void for_each_line(const WideCopy& copy, const F& f) {
    int64_t wide = 0;
    for (int64_t matrix = 0; matrix < copy.matrices; ++matrix) {
      for (int64_t line = 0; line < copy.lines; ++line, wide += copy.length)
        f(matrix * copy.matrix_stride + line * copy.line_stride, wide);
    }
  }
  const void* widen(const WideCopy& copy, const void* from, std::byte* to) const {
    ConvertLoop convert = loops().convert[static_cast<int>(dtype_)][static_cast<int>(DType::float32)];
    for_each_line(copy, [&](int64_t narrow, int64_t wide) {
      convert(static_cast<const uint16_t*>(from) + narrow, reinterpret_cast<float*>(to) + wide, copy.length);
    });
    return to;
  }
  void narrow(const std::byte* from, void* to) const {
    ConvertLoop convert = loops().convert[static_cast<int>(DType::float32)][static_cast<int>(dtype_)];
    for_each_line(dst_, [&](int64_t narrow, int64_t wide) {
      convert(reinterpret_cast<const float*>(from) + wide, static_cast<uint16_t*>(to) + narrow, dst_.length);
    });
  }

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
  std::vector<WideCopy> inputs = {matrices(spec.batch, spec.m, spec.k, wide.a_strides),
                                  matrices(spec.batch, spec.k, spec.n, wide.b_strides)};
  if (spec.has_bias) inputs.push_back({.length = spec.n});
  WideCopy dst = matrices(spec.batch, spec.m, spec.n, wide.c_strides);
  OnednnPackingPtr primitive = make_matmul(wide);
  if (primitive == nullptr) return nullptr;
  return std::make_shared<WidenedPrimitive>(primitive, spec.dtype, std::move(inputs), dst, spec.packs_weights);
}

OnednnPackingPtr make_widened_convolution(const ConvolutionSpec& spec) {
  if (!is_narrow_float(spec.dtype)) return nullptr;
  ConvolutionSpec wide = spec;
  wide.dtype = DType::float32;
  std::vector<WideCopy> inputs = {contiguous(spec.src), contiguous(spec.weights)};
  if (spec.has_bias) inputs.push_back({.length = spec.dst[1]});
  OnednnPackingPtr primitive = make_convolution(wide);
  if (primitive == nullptr) return nullptr;
  return std::make_shared<WidenedPrimitive>(primitive, spec.dtype, std::move(inputs), contiguous(spec.dst),
                                            spec.packs_weights);
}

}  // namespace md
