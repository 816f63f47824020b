// Convolutions and transposed convolutions by oneDNN, in its layouts, with reorders where those differ from ours.
#include <utility>

#include "tensor/gemm/onednn_operands.h"
#include "tensor/gemm/widened_primitive.h"
#include "tensor/storage.h"

namespace md {
namespace {

using namespace onednn;

class Convolution final : public OnednnPacking {
 public:
  template <typename PrimitiveDesc>
  Convolution(ConvolutionSpec spec, const PrimitiveDesc& desc, dnnl::primitive primitive, const Desc& src,
              const Desc& weights, const Desc& dst)
      : spec_(std::move(spec)),
        primitive_(std::move(primitive)),
        implementation_(str_cat("oneDNN ", desc.impl_info_str(), of_precision(spec_.precision))),
        src_(src, desc.src_desc(), false, pieces_),
        weights_(weights, desc.weights_desc(), false, pieces_),
        dst_(dst, desc.dst_desc(), true, pieces_),
        bias_(desc.bias_desc()),
        scratch_(desc.scratchpad_desc()),
        scratch_place_(pieces_.add(scratch_.get_size())) {}

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    ThreadCountScope scope(1);
    Run run(static_cast<char*>(scratchpad));
    std::vector<std::pair<int, dnnl::memory>> arguments{{DNNL_ARG_SRC, run.loaded(src_, inputs[0])},
                                                        {DNNL_ARG_WEIGHTS, weights(run, inputs[1])}};
    if (spec_.has_bias) arguments.emplace_back(DNNL_ARG_BIAS, run.memory(bias_, const_cast<void*>(inputs[2])));
    dnnl::memory result = run.result(dst_, dst);
    arguments.emplace_back(DNNL_ARG_DST, result);
    if (scratch_.get_size() > 0) arguments.emplace_back(DNNL_ARG_SCRATCHPAD, run.piece(scratch_, scratch_place_));
    run.execute(primitive_, arguments);
    run.stored(dst_, result, dst);
  }
  size_t scratchpad_bytes() const override { return pieces_.bytes(); }
  std::string implementation() const override { return implementation_; }
  size_t packed_bytes() const override { return weights_.theirs.get_size(); }
  std::string packed_layout() const override { return layout_text(weights_.ours) + layout_text(weights_.theirs); }
  void pack(const void* weights, void* packed) const override {
    ThreadCountScope scope(1);
    dnnl::memory from(weights_.ours, engine(), const_cast<void*>(weights));
    dnnl::memory to(weights_.theirs, engine(), packed);
    dnnl::stream on(engine());
    dnnl::reorder(from, to).execute(on, from, to);
    on.wait();
  }

 private:
  dnnl::memory weights(Run& run, const void* data) const {
    if (spec_.packs_weights) return run.memory(weights_.theirs, const_cast<void*>(data));
    return run.loaded(weights_, data);
  }

  ConvolutionSpec spec_;
  dnnl::primitive primitive_;
  std::string implementation_;
  Pieces pieces_;
  LaidOut src_, weights_, dst_;
  Desc bias_, scratch_;
  size_t scratch_place_;
};

// oneDNN's dims (groups, O / groups, C / groups, kernel...) for our layout; without the
// groups dim if there is one group.
Desc plain_weights(const ConvolutionSpec& spec, dnnl::memory::data_type type) {
  Dims sizes(spec.weights.begin(), spec.weights.end());
  Dims strides = spec.weights_last ? channels_last(sizes) : row_major(sizes);
  int64_t leading = sizes[0] / spec.groups, leading_stride = strides[0];
  sizes[0] = leading;
  if (spec.transposed) {
    std::swap(sizes[0], sizes[1]);
    std::swap(strides[0], strides[1]);
  }
  if (spec.groups > 1) {
    sizes.insert(sizes.begin(), spec.groups);
    strides.insert(strides.begin(), leading * leading_stride);
  }
  return Desc(sizes, type, strides);
}

struct Window {
  Dims strides, dilates, before, after;
};

Window window_of(const ConvolutionSpec& spec) {
  Window window;
  for (size_t i = 0; i < spec.strides.size(); ++i) {
    const std::vector<int64_t>& steps = spec.transposed ? spec.src : spec.dst;
    const std::vector<int64_t>& covered = spec.transposed ? spec.dst : spec.src;
    int64_t span = (steps[i + 2] - 1) * spec.strides[i] + spec.dilations[i] * (spec.weights[i + 2] - 1) + 1;
    window.strides.push_back(spec.strides[i]);
    window.dilates.push_back(spec.dilations[i] - 1);
    window.before.push_back(spec.padding[i]);
    window.after.push_back(span - covered[i + 2] - spec.padding[i]);
  }
  return window;
}

template <typename Primitive>
OnednnPackingPtr build(const ConvolutionSpec& spec, dnnl::algorithm algorithm) {
  dnnl::memory::data_type type = *data_type(spec.dtype);
  // In the layout that the primitive chooses; reorders round.
  dnnl::memory::data_type narrow = spec.precision == Precision::BFloat16 ? dnnl::memory::data_type::bf16 : type;
  auto plain = [&](const std::vector<int64_t>& sizes, bool is_last) {
    Dims dims(sizes.begin(), sizes.end());
    return Desc(dims, type, is_last ? channels_last(dims) : row_major(dims));
  };
  auto any = [&](const Desc& desc, dnnl::memory::data_type of) {
    return Desc(desc.get_dims(), of, dnnl::memory::format_tag::any);
  };
  Desc src = plain(spec.src, spec.src_last), weights = plain_weights(spec, type), dst = plain(spec.dst, spec.dst_last);
  Desc bias = spec.has_bias ? Desc({dst.get_dims()[1]}, type, Dims{1}) : Desc();
  Window window = window_of(spec);
  typename Primitive::primitive_desc desc(engine(), dnnl::prop_kind::forward_inference, algorithm, any(src, narrow),
                                          any(weights, narrow), bias, any(dst, type), window.strides, window.dilates,
                                          window.before, window.after, own_scratchpad(), true);
  if (!desc || is_reference(desc)) return nullptr;
  return std::make_shared<Convolution>(spec, desc, Primitive(desc), src, weights, dst);
}

}  // namespace

OnednnPackingPtr make_convolution(const ConvolutionSpec& spec) {
  if (!data_type(spec.dtype)) return nullptr;
  Key key;
  key.add('c').add(spec.dtype).add(std::span(spec.src)).add(std::span(spec.weights)).add(std::span(spec.dst));
  key.add(std::span(spec.strides)).add(std::span(spec.dilations)).add(std::span(spec.padding));
  key.add(spec.groups).add(spec.transposed).add(spec.has_bias).add(spec.packs_weights).add(spec.precision);
  key.add(spec.src_last).add(spec.weights_last).add(spec.dst_last);
  OnednnPackingPtr made = make_cached(key, [&] {
    return spec.transposed ? build<dnnl::deconvolution_forward>(spec, dnnl::algorithm::deconvolution_direct)
                           : build<dnnl::convolution_forward>(spec, dnnl::algorithm::convolution_direct);
  });
  return made ? made : make_cached(key.add(kWidened), [&] { return make_widened_convolution(spec); });
}

}  // namespace md
