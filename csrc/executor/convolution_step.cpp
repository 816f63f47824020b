#include "executor/convolution_step.h"

#include <algorithm>

#include "executor/epilogue.h"
#include "graph/value_info.h"
#include "tensor/gemm/depthwise.h"
#include "tensor/gemm/split_convolution.h"
#include "tensor/shapes/memory_format.h"

namespace md {
namespace {

// Whether it lies with channels last, and not row by row.
bool lies_last(const TensorSpec& spec) { return !spec.is_contiguous() && has_channels_last(spec); }

// `result`: the node whose value is computed, the convolution or a copy of it in another layout.
ConvolutionSpec spec_of(const Node& node, const Node& result) {
  std::vector<Arg> args;
  for (const Operand& operand : node.operands) {
    args.push_back(to_arg(operand, [](ValueRef value) -> Arg { return Tensor::fake(md::spec_of(value)); }));
  }
  ConvolutionSpec spec = convolution_spec(OpCall{*node.op, args}, node.outs[0].spec);
  spec.src_last = lies_last(md::spec_of(node.operands[0]));
  spec.weights_last = lies_last(md::spec_of(node.operands[1]));
  spec.dst_last = lies_last(result.outs[0].spec);
  return spec;
}

// Value numbers; bias is -1 if there is none.
struct ConvolutionValues {
  int src = -1, weights = -1, bias = -1, dst = -1;
};

Work work_of(const Node& node, const ConvolutionSpec& spec) {
  double per_result = 1, elements = static_cast<double>(node.outs[0].spec.numel().value());
  for (size_t i = 1; i < spec.weights.size(); ++i) per_result *= static_cast<double>(spec.weights[i]);
  double read =
      static_cast<double>(spec_of(node.operands[0]).numel().value() + spec_of(node.operands[1]).numel().value());
  double larger = spec.transposed ? static_cast<double>(spec_of(node.operands[0]).numel().value()) : elements;
  return {.bytes = (read + elements) * static_cast<double>(item_size(spec.dtype)),
          .flops = 2 * per_result * larger,
          .dtype = spec.dtype};
}

Work work_with(const Node& node, const ConvolutionSpec& spec, const Epilogue& epilogue) {
  Work work = work_of(node, spec);
  work += epilogue.work;
  return work;
}

// Groups of few channels are not summed in pairs; what is convolved channel by channel is by own loops, of float32.
bool is_fast_in(Precision precision, const ConvolutionSpec& spec) {
  constexpr int64_t kLeastChannels = 16;
  int64_t channels = std::min(spec.src[1], spec.dst[1]) / spec.groups;
  bool fits = spec.dtype == DType::float32 && !is_depthwise(spec) && (spec.groups == 1 || channels >= kLeastChannels);
  return fits && is_fast(precision);
}

// With the weights in place, and packed; null where there is none.
struct Convolutions {
  SplitConvolutionPtr plain, packed;
};
Convolutions make_convolutions(ConvolutionSpec spec, Precision precision, bool packs) {
  Convolutions made;
  spec.precision = is_fast_in(precision, spec) ? precision : Precision::Float32;
  made.plain = made_or_in_float32(spec, SplitConvolution::make);
  if (made.plain == nullptr || !packs) return made;
  spec.packs_weights = true;
  made.packed = SplitConvolution::make(spec);
  return made;
}

class ConvolutionStep : public Step {
 public:
  // changing: the node, if its sizes change and nothing lays out its result; else null.
  ConvolutionStep(Convolutions made, Precision precision, bool packs, ConvolutionValues values, Epilogue epilogue,
                  std::string text, Work work, const Node* changing)
      : plain_(std::move(made.plain)),
        packed_(std::move(made.packed)),
        precision_(precision),
        packs_(packs),
        values_(values),
        epilogue_(std::move(epilogue)),
        text_(std::move(text)),
        work_(work),
        node_(changing) {}

  void run(RunState& state) const override {
    ConvolutionOperands operands = {.src = state.address(values_.src),
                                    .weights = state.address(values_.weights),
                                    .bias = state.address_or_null(values_.bias),
                                    .dst = state.address(values_.dst)};
    StoragePtr packed;
    if (packed_ != nullptr)
      packed = find_packed(*state.owner(values_.weights)->storage().get(), operands.weights, *packed_);
    const SplitConvolution& convolution = packed ? *packed_ : *plain_;
    if (packed) operands.weights = packed->data();
    if (!epilogue_.program) return convolution.run(operands);
    LoopRun epilogue(*epilogue_.program, state);
    convolution.run(operands, [&](const ConvolutionBlock& block) {
      epilogue.run_block(block.first_element, 1, 0, block.elements);
    });
  }
  std::string describe() const override { return text_ + in_precision(plain_->spec().precision); }
  std::string kernel() const override {
    std::string text = plain_->implementation();
    return packed_ == nullptr ? text : text + ", its weights packed once";
  }
  Work work() const override {
    Work work = work_;
    work.dtype = multiplied(plain_->spec().dtype, plain_->spec().precision);
    return work;
  }
  size_t nbytes() const override {
    return epilogue_.nbytes() + plain_->nbytes() + (packed_ == nullptr ? 0 : packed_->nbytes());
  }
  bool take_sizes(const Layout& layout, StepMemory&) override {
    if (node_ == nullptr) return true;
    if (!is_convolution(*node_) || !epilogue_.take_sizes(layout, *node_)) return false;
    ConvolutionSpec spec = spec_of(*node_, *node_);
    Convolutions made = make_convolutions(spec, precision_, packs_);
    if (made.plain == nullptr) return false;
    plain_ = std::move(made.plain);
    packed_ = std::move(made.packed);
    work_ = work_with(*node_, spec, epilogue_);
    return true;
  }
  std::unique_ptr<Step> copy() const override { return std::make_unique<ConvolutionStep>(*this); }

 private:
  SplitConvolutionPtr plain_, packed_;
  Precision precision_;
  bool packs_;
  ConvolutionValues values_;
  Epilogue epilogue_;
  std::string text_;
  Work work_;
  const Node* node_;
};

}  // namespace

bool is_convolution(const Node& node) {
  if (!is_op(node, OpRole::Convolution) || !node.outs[0].spec.is_contiguous()) return false;
  bool has_bias = !std::holds_alternative<std::monostate>(node.operands[2]);
  for (size_t i = 0; i < (has_bias ? 3u : 2u); ++i) {
    const TensorSpec& spec = spec_of(node.operands[i]);
    bool is_laid_out = spec.is_contiguous() || (i < 2 && has_channels_last(spec));
    if (!is_laid_out || spec.dtype != node.outs[0].spec.dtype) return false;
  }
  return true;
}

LoweredStep lower_convolution(const Group& group, LoweringContext& context) {
  const Node& node = *group.nodes[0];
  const Node& result = anchor_result(group);
  LoweredStep lowered;
  // Of a result that is laid out otherwise, the plan keeps its sizes.
  bool changes = context.changes(group);
  context.keeps_sizes |= changes && group.is_laid_out;
  ConvolutionSpec spec = spec_of(node, result);
  bool packs = RunState::has_owner(context.places.buffer(std::get<ValueRef>(node.operands[1])));
  Precision precision = context.rules.precision.products;
  Convolutions made = make_convolutions(spec, precision, packs);
  Epilogue epilogue = build_epilogue(group, context);
  if (made.plain == nullptr || !epilogue.ok) {
    lowered.note = made.plain == nullptr ? "oneDNN has no such convolution" : epilogue.note;
    return lowered;
  }
  auto add_value = [&](ValueRef value) {
    lowered.touched.push_back(context.places.number(value));
    return lowered.touched.back();
  };
  ConvolutionValues values = {.src = add_value(std::get<ValueRef>(node.operands[0])),
                              .weights = add_value(std::get<ValueRef>(node.operands[1]))};
  if (spec.has_bias) values.bias = add_value(std::get<ValueRef>(node.operands[2]));
  values.dst = add_value({const_cast<Node*>(&result), 0});
  lowered.touched.insert(lowered.touched.end(), epilogue.touched.begin(), epilogue.touched.end());
  Work work = work_with(node, spec, epilogue);
  lowered.step = std::make_unique<ConvolutionStep>(std::move(made), precision, packs, values, std::move(epilogue),
                                                   anchor_text(group), work, changes ? &node : nullptr);
  return lowered;
}

}  // namespace md
