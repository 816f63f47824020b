#include "tensor/gemm/pointwise_convolution.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/rounding.h"
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
      if (spec_.has_bias) add_to_channels(static_cast<const float*>(inputs[2]), to);
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
  void add_to_channels(const float* bias, float* channels) const {
    for (int64_t channel = 0; channel < product_.m; ++channel, channels += product_.n)
      for (int64_t j = 0; j < product_.n; ++j) channels[j] += bias[channel];
  }

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
  bool is_plain = spec.precision == Precision::BFloat16 && !spec.transposed && spec.groups == 1;
  bool is_pointwise = all(spec.weights, 2, 1) && all(spec.strides, 0, 1) && all(spec.padding, 0, 0);
  return is_plain && is_pointwise && std::min(spec.src[1], spec.dst[1]) >= kLeastChannels &&
         elements_of(spec) >= kLeastElements;
}

OnednnPackingPtr make_pointwise_convolution(const ConvolutionSpec& spec) {
  if (!is_pointwise_product(spec)) return nullptr;
  auto made = std::make_shared<PointwiseConvolution>(spec);
  return made->ok() ? made : nullptr;
}

}  // namespace md
