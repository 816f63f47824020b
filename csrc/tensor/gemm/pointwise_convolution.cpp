#include "tensor/gemm/pointwise_convolution.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/rounding.h"
#include "tensor/gemm/gemm.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

constexpr int64_t kLeastElements = 128, kLeastChannels = 16;  // of an image in one channel
constexpr int64_t kAlignment = 64;

int64_t elements_of(const ConvolutionSpec& spec) {
  return std::accumulate(spec.dst.begin() + 2, spec.dst.end(), int64_t{1}, std::multiplies<>());
}

void round(const void* from, void* to, int64_t count) {
  loops().convert[static_cast<int>(DType::float32)][static_cast<int>(DType::bfloat16)](from, to, count);
}

int64_t rounded_bytes(int64_t count) {
  return round_up(count * static_cast<int64_t>(item_size(DType::bfloat16)), kAlignment);
}

void add_to_channels(const float* bias, int64_t count, int64_t elements, float* channels) {
  for (int64_t channel = 0; channel < count; ++channel, channels += elements)
    for (int64_t j = 0; j < elements; ++j) channels[j] += bias[channel];
}

// In float32, by our own loops. With strides the elements that are read are copied first.
class FloatProducts final : public OnednnPacking {
 public:
  explicit FloatProducts(const ConvolutionSpec& spec)
      : spec_(spec), m_(spec.dst[1]), n_(elements_of(spec)), k_(spec.src[1]) {
    image_ = k_ * std::accumulate(spec.src.begin() + 2, spec.src.end(), int64_t{1}, std::multiplies<>());
  }

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    MD_ASSERT(inputs.size() == (spec_.has_bias ? 3u : 2u), "a convolution got ", inputs.size(), " inputs");
    const auto *image = static_cast<const float*>(inputs[0]), *weights = static_cast<const float*>(inputs[1]);
    auto *to = static_cast<float*>(dst), *copy = static_cast<float*>(scratchpad);
    for (int64_t i = 0; i < spec_.dst[0]; ++i, image += image_, to += m_ * n_) {
      if (has_strides()) copy_elements_read(image, copy);
      GemmProblem<float> problem = {m_, n_, k_, weights, k_, 1, has_strides() ? copy : image, n_, 1, to, n_};
      gemm_by(choose_gemm_method(problem), problem);
      if (spec_.has_bias) add_to_channels(static_cast<const float*>(inputs[2]), m_, n_, to);
    }
  }
  size_t scratchpad_bytes() const override { return has_strides() ? static_cast<size_t>(k_ * n_) * sizeof(float) : 0; }
  std::string implementation() const override {
    GemmProblem<float> problem = {m_, n_, k_, nullptr, k_, 1, nullptr, n_, 1, nullptr, n_};
    return str_cat("own products with each image ", name_of(choose_gemm_method(problem)));
  }
  size_t nbytes() const override { return sizeof(*this) + 5 * spec_.src.size() * sizeof(int64_t); }
  size_t packed_bytes() const override { return 0; }
  void pack(const void*, void*) const override { MD_ASSERT(false, "weights of own products are not packed"); }
  std::string packed_layout() const override { return ""; }

 private:
  bool has_strides() const {
    return std::any_of(spec_.strides.begin(), spec_.strides.end(), [](int64_t stride) { return stride > 1; });
  }
  // Of all channels: the last dim's elements in an inner loop, those of the others one row after the other.
  void copy_elements_read(const float* image, float* copy) const {
    size_t dims = spec_.strides.size();
    int64_t columns = spec_.dst.back(), step = spec_.strides.back();
    std::vector<int64_t> at(dims, 0);  // of a row of the result, in the dims before the last
    for (int64_t row = 0, rows = k_ * n_ / columns; row < rows; ++row, copy += columns) {
      int64_t channel = row / (n_ / columns), place = channel;
      for (size_t d = 0; d + 1 < dims; ++d) place = place * spec_.src[d + 2] + at[d] * spec_.strides[d];
      const float* from = image + place * spec_.src.back();
      for (int64_t x = 0; x < columns; ++x) copy[x] = from[x * step];
      for (size_t d = dims - 1; d-- > 0;) {
        if (++at[d] < spec_.dst[d + 2]) break;
        at[d] = 0;
      }
    }
  }

  ConvolutionSpec spec_;
  int64_t m_, n_, k_;  // the weights are (m, k), what is read of an image (k, n)
  int64_t image_;      // elements
};

class PointwiseConvolution final : public OnednnPacking {
 public:
  explicit PointwiseConvolution(const ConvolutionSpec& spec) : spec_(spec) {
    product_.m = spec.dst[1];
    product_.n = elements_of(spec);
    product_.k = spec.src[1];
    product_.a_strides = {0, product_.k, 1};
    product_.b_strides = {0, product_.n, 1};
    product_.c_strides = {0, product_.n, 1};
    product_.precision = spec.precision;
    primitive_ = make_narrow_matmul(product_);
  }
  bool ok() const { return primitive_ != nullptr; }

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    MD_ASSERT(inputs.size() == (spec_.has_bias ? 3u : 2u), "a convolution got ", inputs.size(), " inputs");
    auto* image = static_cast<std::byte*>(scratchpad);
    auto* weights = image + image_bytes();
    std::byte* rest = weights + (spec_.packs_weights ? 0 : weight_bytes());
    if (!spec_.packs_weights) round(inputs[1], weights, product_.m * product_.k);
    const auto* from = static_cast<const float*>(inputs[0]);
    auto* to = static_cast<float*>(dst);
    for (int64_t i = 0; i < spec_.dst[0]; ++i, from += product_.k * product_.n, to += product_.m * product_.n) {
      round(from, image, product_.k * product_.n);
      const void* narrow[] = {spec_.packs_weights ? inputs[1] : weights, image};
      primitive_->execute(narrow, to, primitive_->scratchpad_bytes() > 0 ? rest : nullptr);
      if (spec_.has_bias) add_to_channels(static_cast<const float*>(inputs[2]), product_.m, product_.n, to);
    }
  }
  size_t scratchpad_bytes() const override {
    return static_cast<size_t>(image_bytes() + (spec_.packs_weights ? 0 : weight_bytes())) +
           primitive_->scratchpad_bytes();
  }
  std::string implementation() const override {
    return str_cat("products by ", primitive_->implementation(), of_precision(spec_.precision));
  }
  size_t packed_bytes() const override { return static_cast<size_t>(weight_bytes()); }
  void pack(const void* weights, void* packed) const override { round(weights, packed, product_.m * product_.k); }
  std::string packed_layout() const override { return str_cat("rounded ", product_.m, "x", product_.k); }

 private:
  int64_t image_bytes() const { return rounded_bytes(product_.k * product_.n); }
  int64_t weight_bytes() const { return rounded_bytes(product_.m * product_.k); }

  ConvolutionSpec spec_;
  MatmulSpec product_;  // of the weights with one image
  OnednnPackingPtr primitive_;
};

}  // namespace

bool is_pointwise_product(const ConvolutionSpec& spec) {
  auto all = [](const std::vector<int64_t>& values, size_t from, int64_t value) {
    return std::all_of(values.begin() + static_cast<std::ptrdiff_t>(from), values.end(),
                       [=](int64_t each) { return each == value; });
  };
  bool is_computed = spec.precision == Precision::BFloat16 ||
                     (spec.precision == Precision::Float32 && spec.dtype == DType::float32 && gemm_replaces_onednn());
  bool is_plain = is_computed && !spec.transposed && spec.groups == 1;
  bool steps = spec.precision == Precision::Float32 || all(spec.strides, 0, 1);
  bool is_pointwise = all(spec.weights, 2, 1) && steps && all(spec.padding, 0, 0);
  return is_plain && is_pointwise && std::min(spec.src[1], spec.dst[1]) >= kLeastChannels &&
         elements_of(spec) >= kLeastElements;
}

OnednnPackingPtr make_pointwise_convolution(const ConvolutionSpec& spec) {
  if (!is_pointwise_product(spec)) return nullptr;
  if (spec.precision == Precision::Float32) return std::make_shared<FloatProducts>(spec);
  auto made = std::make_shared<PointwiseConvolution>(spec);
  return made->ok() ? made : nullptr;
}

}  // namespace md
