#include "tensor/gemm/image_products.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "tensor/gemm/gemm.h"

namespace md {
namespace {

class ImageProducts final : public InPlaceWeights {
 public:
  explicit ImageProducts(const ConvolutionSpec& spec)
      : images_(spec.dst[0]),
        channels_(spec.dst[1]),
        elements_(std::accumulate(spec.src.begin() + 1, spec.src.end(), int64_t{1}, std::multiplies<>())),
        has_bias_(spec.has_bias) {}

  void execute(std::span<const void* const> inputs, void* dst, void*) const override {
    MD_ASSERT(inputs.size() == (has_bias_ ? 3u : 2u), "a convolution got ", inputs.size(), " inputs");
    auto* to = static_cast<float*>(dst);
    GemmProblem<float> problem = product(inputs[0], inputs[1], to);
    gemm_by(choose_gemm_method(problem), problem);
    if (has_bias_) add_bias(images_, channels_, static_cast<const float*>(inputs[2]), to, channels_);
  }
  size_t scratchpad_bytes() const override { return 0; }
  std::string implementation() const override {
    return str_cat("own product of all images ", name_of(choose_gemm_method(product(nullptr, nullptr, nullptr))));
  }
  size_t nbytes() const override { return sizeof(*this); }

 private:
  GemmProblem<float> product(const void* images, const void* weights, float* to) const {
    return {images_,
            channels_,
            elements_,
            static_cast<const float*>(images),
            elements_,
            1,
            static_cast<const float*>(weights),
            1,
            elements_,
            to,
            channels_};
  }

  int64_t images_, channels_, elements_;  // elements: of an image, and of the weights of a channel
  bool has_bias_;
};

}  // namespace

bool is_image_product(const ConvolutionSpec& spec) {
  bool is_float = spec.precision == Precision::Float32 && spec.dtype == DType::float32 && gemm_replaces_onednn();
  if (!is_float || spec.transposed || spec.groups > 1 || !spec.is_row_major()) return false;
  for (size_t d = 0; d < spec.strides.size(); ++d) {
    bool is_whole = spec.weights[d + 2] == spec.src[d + 2] && spec.dst[d + 2] == 1;
    if (!is_whole || spec.padding[d] > 0 || (spec.dilations[d] > 1 && spec.src[d + 2] > 1)) return false;
  }
  return true;
}

OnednnPackingPtr make_image_product(const ConvolutionSpec& spec) {
  return is_image_product(spec) ? std::make_shared<ImageProducts>(spec) : nullptr;
}

}  // namespace md
