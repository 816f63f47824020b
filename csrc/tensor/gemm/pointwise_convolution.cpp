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

constexpr int64_t kLeastChannels = 16;
// Elements of a channel of the result, of which own products compute whole vectors.
constexpr int64_t kLeastElements = 48, kLeastNarrowElements = 128, kVector = 16, kFewColumns = 4;
constexpr double kMostPadding = 1.2;
constexpr int64_t kLargestPatch = 4;  // along a dim: oneDNN reads larger ones no slower than they are copied
constexpr int64_t kAlignment = 64;

int64_t volume_from_2(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin() + 2, sizes.end(), int64_t{1}, std::multiplies<>());
}
int64_t elements_of(const ConvolutionSpec& spec) { return volume_from_2(spec.dst); }

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

// In float32, by our own loops. With strides the elements that are read are copied first, by places in the window.
class FloatProducts final : public InPlaceWeights {
 public:
  explicit FloatProducts(const ConvolutionSpec& spec)
      : spec_(spec),
        m_(spec.dst[1]),
        n_(elements_of(spec)),
        k_(spec.src[1] * volume_from_2(spec.weights)),
        image_(spec.src[1] * volume_from_2(spec.src)) {}

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    MD_ASSERT(inputs.size() == (spec_.has_bias ? 3u : 2u), "a convolution got ", inputs.size(), " inputs");
    const auto *image = static_cast<const float*>(inputs[0]), *weights = static_cast<const float*>(inputs[1]);
    auto *to = static_cast<float*>(dst), *column = static_cast<float*>(scratchpad), *copy = column + column_floats();
    for (int64_t i = 0; i < spec_.dst[0]; ++i, image += image_, to += m_ * n_) {
      if (has_strides()) copy_elements_read(image, copy);
      const float* read = has_strides() ? copy : image;
      GemmProblem<float> problem = product(weights, read, to);
      if (problem.n > 0) gemm_by(choose_gemm_method(problem), problem);
      for (int64_t j = problem.n; j < n_; ++j) multiply_column(weights, read + j, column, to + j);
      if (spec_.has_bias) add_to_channels(static_cast<const float*>(inputs[2]), m_, n_, to);
    }
  }
  size_t scratchpad_bytes() const override {
    return static_cast<size_t>(column_floats() + (has_strides() ? k_ * n_ : 0)) * sizeof(float);
  }
  std::string implementation() const override {
    return str_cat("own products with each image ", name_of(choose_gemm_method(product(nullptr, nullptr, nullptr))));
  }
  size_t nbytes() const override { return sizeof(*this) + 5 * spec_.src.size() * sizeof(int64_t); }

 private:
  // Without the last columns where those are few: a whole vector of them would be computed.
  int64_t last_columns() const { return n_ % kVector <= kFewColumns ? n_ % kVector : 0; }
  int64_t column_floats() const { return last_columns() == 0 ? 0 : k_ + m_; }
  GemmProblem<float> product(const float* weights, const float* image, float* to) const {
    return {m_, n_ - last_columns(), k_, weights, k_, 1, image, n_, 1, to, n_};
  }
  // One column of the image and of the result: dot products with the rows of the weights. room: column_floats().
  void multiply_column(const float* weights, const float* image, float* room, float* to) const {
    float* results = room + k_;
    for (int64_t i = 0; i < k_; ++i) room[i] = image[i * n_];
    loops().f32.dots(room, weights, k_, m_, k_, results);
    for (int64_t i = 0; i < m_; ++i) to[i * n_] = results[i];
  }
  bool has_strides() const {
    return std::any_of(spec_.strides.begin(), spec_.strides.end(), [](int64_t stride) { return stride > 1; });
  }
  // copy[channel, place in the window][place in the result]
  void copy_elements_read(const float* image, float* copy) const {
    size_t dims = spec_.strides.size();
    std::vector<int64_t> in_window(dims, 0);
    for (int64_t row = 0, window = volume_from_2(spec_.weights); row < k_; ++row, copy += n_) {
      copy_place(image + row / window * (image_ / spec_.src[1]), in_window, copy);
      count_on(spec_.weights, dims, in_window);
    }
  }
  void copy_place(const float* channel, const std::vector<int64_t>& in_window, float* copy) const {
    size_t dims = spec_.strides.size(), last = dims - 1;
    int64_t columns = spec_.dst.back(), step = spec_.strides.back();
    std::vector<int64_t> at(dims, 0);
    for (const float* end = copy + n_; copy < end; copy += columns) {
      int64_t place = 0;
      for (size_t d = 0; d < last; ++d) place = place * spec_.src[d + 2] + at[d] * spec_.strides[d] + in_window[d];
      const float* from = channel + place * spec_.src.back() + in_window[last];
      for (int64_t x = 0; x < columns; ++x) copy[x] = from[x * step];
      count_on(spec_.dst, last, at);
    }
  }
  // The next of the places in the first `dims` dims of sizes, from its third on.
  static void count_on(const std::vector<int64_t>& sizes, size_t dims, std::vector<int64_t>& place) {
    for (size_t d = dims; d-- > 0;) {
      if (++place[d] < sizes[d + 2]) return;
      place[d] = 0;
    }
  }

  ConvolutionSpec spec_;
  int64_t m_, n_, k_;  // the weights are (m, k), what is read of an image (k, n)
  int64_t image_;      // elements of one
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
  if (spec.transposed || spec.groups > 1 || !spec.is_row_major()) return false;
  int64_t elements = elements_of(spec);
  bool is_float = spec.precision == Precision::Float32 && spec.dtype == DType::float32 && gemm_replaces_onednn();
  if (!is_float && spec.precision != Precision::BFloat16) return false;
  if (elements < (is_float ? kLeastElements : kLeastNarrowElements)) return false;
  int64_t computed = elements % kVector <= kFewColumns ? elements : round_up(elements, kVector);
  if (is_float && static_cast<double>(computed) > kMostPadding * static_cast<double>(elements)) return false;
  for (size_t d = 0; d < spec.strides.size(); ++d) {
    int64_t kernel = spec.weights[d + 2];
    bool is_apart = is_float && spec.dilations[d] == 1 && kernel <= std::min(spec.strides[d], kLargestPatch);
    if (spec.padding[d] > 0 || (!is_apart && (kernel > 1 || spec.strides[d] > 1))) return false;
  }
  return std::min(spec.src[1] * volume_from_2(spec.weights), spec.dst[1]) >= kLeastChannels;
}

OnednnPackingPtr make_pointwise_convolution(const ConvolutionSpec& spec) {
  if (!is_pointwise_product(spec)) return nullptr;
  if (spec.precision == Precision::Float32) return std::make_shared<FloatProducts>(spec);
  return made_if_ok<PointwiseConvolution>(spec);
}

}  // namespace md
