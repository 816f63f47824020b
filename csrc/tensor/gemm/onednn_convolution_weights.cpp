// Gradients of the weights of convolutions by oneDNN.
#include "tensor/gemm/onednn_operands.h"

namespace md {
namespace {

using namespace onednn;

class ConvolutionWeights final : public OnednnPrimitive {
 public:
  using PrimitiveDesc = dnnl::convolution_backward_weights::primitive_desc;
  ConvolutionWeights(const PrimitiveDesc& desc, const Desc& src, const Desc& weights, const Desc& dst)
      : primitive_(desc),
        implementation_(str_cat("oneDNN ", desc.impl_info_str())),
        src_(src, desc.src_desc(), false, pieces_),
        dst_(dst, desc.diff_dst_desc(), false, pieces_),
        weights_(weights, desc.diff_weights_desc(), true, pieces_),
        scratch_(desc.scratchpad_desc()),
        scratch_place_(pieces_.add(scratch_.get_size())) {}

  void execute(std::span<const void* const> inputs, void* weights, void* scratchpad) const override {
    ThreadCountScope scope(1);
    Run run(static_cast<char*>(scratchpad));
    dnnl::memory result = run.result(weights_, weights);
    std::vector<std::pair<int, dnnl::memory>> arguments{{DNNL_ARG_SRC, run.loaded(src_, inputs[0])},
                                                        {DNNL_ARG_DIFF_DST, run.loaded(dst_, inputs[1])},
                                                        {DNNL_ARG_DIFF_WEIGHTS, result}};
    if (scratch_.get_size() > 0) arguments.emplace_back(DNNL_ARG_SCRATCHPAD, run.piece(scratch_, scratch_place_));
    run.execute(primitive_, arguments);
    run.stored(weights_, result, weights);
  }
  size_t scratchpad_bytes() const override { return pieces_.bytes(); }
  std::string implementation() const override { return implementation_; }

 private:
  dnnl::primitive primitive_;
  std::string implementation_;
  Pieces pieces_;
  LaidOut src_, dst_, weights_;
  Desc scratch_;
  size_t scratch_place_;
};

Desc images(const std::vector<int64_t>& sizes, int64_t image) {
  Dims dims(sizes.begin(), sizes.end());
  Dims strides = row_major(dims);
  strides[0] = image;
  return Desc(dims, dnnl::memory::data_type::f32, strides);
}

// (groups, O / groups, C / groups, kernel...), without the groups if there is one.
Desc weights_of(const ConvolutionSpec& spec) {
  Dims sizes(spec.weights.begin(), spec.weights.end());
  if (spec.groups > 1) {
    sizes[0] /= spec.groups;
    sizes.insert(sizes.begin(), spec.groups);
  }
  return Desc(sizes, dnnl::memory::data_type::f32, row_major(sizes));
}

OnednnPrimitivePtr build(const ConvolutionSpec& spec, int64_t src_image, int64_t dst_image) {
  Desc src = images(spec.src, src_image), dst = images(spec.dst, dst_image), weights = weights_of(spec);
  auto any = [](const Desc& desc) {
    return Desc(desc.get_dims(), dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
  };
  Dims strides(spec.strides.begin(), spec.strides.end()), before(spec.padding.begin(), spec.padding.end());
  Dims dilates, after;
  for (size_t i = 0; i < strides.size(); ++i) {
    int64_t span = (spec.dst[i + 2] - 1) * strides[i] + spec.dilations[i] * (spec.weights[i + 2] - 1) + 1;
    dilates.push_back(spec.dilations[i] - 1);
    after.push_back(span - spec.src[i + 2] - before[i]);
  }
  auto algorithm = dnnl::algorithm::convolution_direct;
  dnnl::convolution_forward::primitive_desc forward(engine(), dnnl::prop_kind::forward_training, algorithm, any(src),
                                                    any(weights), any(dst), strides, dilates, before, after);
  ConvolutionWeights::PrimitiveDesc desc(engine(), algorithm, any(src), any(weights), any(dst), strides, dilates,
                                         before, after, forward, own_scratchpad(), true);
  if (!desc || is_reference(desc)) return nullptr;
  return std::make_shared<ConvolutionWeights>(desc, src, weights, dst);
}

}  // namespace

OnednnPrimitivePtr make_convolution_weights(const ConvolutionSpec& spec, int64_t src_image, int64_t dst_image) {
  Key key;
  key.add('g').add(std::span(spec.src)).add(std::span(spec.weights)).add(std::span(spec.dst));
  key.add(std::span(spec.strides)).add(std::span(spec.dilations)).add(std::span(spec.padding));
  key.add(spec.groups).add(src_image).add(dst_image);
  return make_cached_primitive(key, [&] { return build(spec, src_image, dst_image); });
}

}  // namespace md
