#include "executor/convolution_step.h"

#include <algorithm>

#include "executor/epilogue.h"
#include "graph/value_info.h"
#include "tensor/gemm/split_convolution.h"

namespace md {
namespace {

ConvolutionSpec spec_of(const Node& node) {
  std::vector<Arg> args;
  for (const Operand& operand : node.operands) {
    args.push_back(to_arg(operand, [](ValueRef value) -> Arg { return Tensor::fake(md::spec_of(value)); }));
  }
  return convolution_spec(OpCall{*node.op, args}, node.outs[0].spec);
}

// Value numbers; bias is -1 if there is none.
struct ConvolutionValues {
  int src = -1, weights = -1, bias = -1, dst = -1;
};

class ConvolutionStep : public Step {
 public:
  ConvolutionStep(SplitConvolutionPtr plain, SplitConvolutionPtr packed, ConvolutionValues values, Epilogue epilogue,
                  std::string text, Work work)
      : plain_(std::move(plain)),
        packed_(std::move(packed)),
        values_(values),
        epilogue_(std::move(epilogue)),
        text_(std::move(text)),
        work_(work) {}

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
  std::string describe() const override { return text_; }
  std::string kernel() const override {
    std::string text = plain_->implementation();
    return packed_ == nullptr ? text : text + ", its weights packed once";
  }
  Work work() const override { return work_; }

 private:
  SplitConvolutionPtr plain_, packed_;
  ConvolutionValues values_;
  Epilogue epilogue_;
  std::string text_;
  Work work_;
};

Work work_of(const Node& node, const ConvolutionSpec& spec) {
  double per_result = 1, elements = static_cast<double>(node.outs[0].spec.numel().value());
  for (size_t i = 1; i < spec.weights.size(); ++i) per_result *= static_cast<double>(spec.weights[i]);
  double read =
      static_cast<double>(spec_of(node.operands[0]).numel().value() + spec_of(node.operands[1]).numel().value());
  double larger = spec.transposed ? static_cast<double>(spec_of(node.operands[0]).numel().value()) : elements;
  return {.bytes = (read + elements) * static_cast<double>(item_size(spec.dtype)), .flops = 2 * per_result * larger};
}

}  // namespace

bool is_convolution(const Node& node) {
  if (!is_op(node, OpRole::Convolution) || !node.outs[0].spec.is_contiguous()) return false;
  bool has_bias = !std::holds_alternative<std::monostate>(node.operands[2]);
  for (size_t i = 0; i < (has_bias ? 3u : 2u); ++i) {
    if (!spec_of(node.operands[i]).is_contiguous() || spec_of(node.operands[i]).dtype != node.outs[0].spec.dtype)
      return false;
  }
  return true;
}

LoweredStep lower_convolution(const Group& group, LoweringContext& context) {
  const Node& node = *group.nodes[0];
  LoweredStep lowered;
  ConvolutionSpec spec = spec_of(node);
  SplitConvolutionPtr plain = SplitConvolution::make(spec), packed;
  Epilogue epilogue = build_epilogue(group, context);
  if (plain == nullptr || !epilogue.ok) {
    lowered.note = plain == nullptr ? "oneDNN has no such convolution" : epilogue.lowered.note;
    return lowered;
  }
  if (RunState::has_owner(context.places.buffer(std::get<ValueRef>(node.operands[1])))) {
    spec.packs_weights = true;
    packed = SplitConvolution::make(spec);
  }
  auto add_value = [&](ValueRef value) {
    lowered.touched.push_back(context.places.number(value));
    return lowered.touched.back();
  };
  ConvolutionValues values = {.src = add_value(std::get<ValueRef>(node.operands[0])),
                              .weights = add_value(std::get<ValueRef>(node.operands[1]))};
  if (spec.has_bias) values.bias = add_value(std::get<ValueRef>(node.operands[2]));
  values.dst = add_value({const_cast<Node*>(&node), 0});
  lowered.touched.insert(lowered.touched.end(), epilogue.lowered.touched.begin(), epilogue.lowered.touched.end());
  Work work = work_of(node, spec);
  work.bytes += epilogue.work.bytes;
  work.flops += epilogue.work.flops;
  lowered.step = std::make_unique<ConvolutionStep>(std::move(plain), std::move(packed), values, std::move(epilogue),
                                                   anchor_text(group), work);
  return lowered;
}

}  // namespace md
