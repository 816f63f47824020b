#include "graph/gradient_walk.h"

#include "autograd/derivative.h"
#include "autograd/rule_op.h"
#include "base/error.h"

namespace md {

std::vector<Tensor> GradientWalk::record(const OpRow& row, std::span<const Arg> args) {
  std::vector<Operand> operands;
  for (const Arg& arg : args) operands.push_back(operand_of(arg));
  Node* node = append(row, std::move(operands));
  std::vector<Tensor> results;
  for (size_t i = 0; i < node->outs.size(); ++i) {
    if (!records_histories()) node->outs[i].spec.requires_grad = false;
    results.push_back(standing_for({node, static_cast<int>(i)}, node->outs[i].spec, false));
  }
  return results;
}

Tensor GradientWalk::standing_for(ValueRef value, TensorSpec spec, bool is_forward) {
  spec.requires_grad = false;
  stood_.push_back({value, is_forward});
  return Tensor::recording(spec, this, reinterpret_cast<void*>(stood_.size()));
}

void GradientWalk::arrive(const ValueRef& value, Tensor gradient) {
  Tensor& total = gradients_[value];
  total = total.defined() ? Tensor(rule_ops::add(total, gradient)) : std::move(gradient);
}

Arg GradientWalk::forward_arg(const Operand& operand) {
  auto value_of = [this](ValueRef value) -> Arg {
    const ValueInfo& info = forward_.info(value);
    if (!info.is_scalar) return forward_tensor(value);
    stood_.push_back({value, true});
    return Scalar::unknown(info.scalar_kind, static_cast<int64_t>(stood_.size()));
  };
  return to_arg(operand, value_of);
}

bool GradientWalk::requires_grad(const Operand& operand) const {
  bool found = false;
  for_each_value(operand, [&](const ValueRef& value) {
    const ValueInfo& info = forward_.info(value);
    found = found || (!info.is_scalar && info.spec.requires_grad);
  });
  return found;
}

bool GradientWalk::differentiate(const Node& node) {
  if (node.kind != NodeKind::Op) return false;
  std::vector<Tensor> gradients(node.outs.size());
  bool has_any = false;
  for (size_t i = 0; i < node.outs.size(); ++i) {
    auto found = gradients_.find({const_cast<Node*>(&node), static_cast<int>(i)});
    if (found == gradients_.end() || !node.outs[i].spec.requires_grad) continue;
    gradients[i] = found->second;
    has_any = true;
  }
  if (!has_any) return false;
  const Derivative* derivative = derivative_of(*node.op);
  if (derivative == nullptr)
    raise(ErrorKind::NotImplemented, "the derivative for '", node.op->name, "' is not implemented");
  std::vector<Arg> args;
  auto wanted = std::make_unique<bool[]>(node.operands.size());
  for (size_t i = 0; i < node.operands.size(); ++i) {
    args.push_back(forward_arg(node.operands[i]));
    bool has_slope = derivative->whole != nullptr || derivative->slope_of(static_cast<int>(i)) != nullptr;
    wanted[i] = has_slope && requires_grad(node.operands[i]);
  }
  note_saved_by(node, *derivative, {wanted.get(), node.operands.size()});
  std::vector<Tensor> results;
  for (size_t i = 0; i < node.outs.size(); ++i)
    results.push_back(forward_tensor({const_cast<Node*>(&node), static_cast<int>(i)}));
  std::vector<Arg> slopes =
      gradients_of(*derivative, {*node.op, args, results, gradients, {wanted.get(), node.operands.size()}});
  for (size_t i = 0; i < slopes.size(); ++i) hand_on(node.operands[i], slopes[i]);
  return true;
}

void GradientWalk::note_saved_by(const Node& node, const Derivative& derivative, std::span<const bool> wanted) {
  ReadSet reads = derivative.reads(wanted);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if ((reads.argument_elements >> i & 1) == 0) continue;
    for_each_value(node.operands[i], [&](const ValueRef& value) {
      if (!forward_.info(value).is_scalar) note_saved(node, value);
    });
  }
  for (size_t i = 0; i < node.outs.size(); ++i)
    if (reads.result_elements >> (node.op->returns_list() ? 0 : i) & 1)
      note_saved(node, {const_cast<Node*>(&node), static_cast<int>(i)});
}

void GradientWalk::hand_on(const Operand& operand, Arg& slope) {
  if (auto* tensor = std::get_if<Tensor>(&slope)) {
    if (tensor->defined()) hand_on(std::get<ValueRef>(operand), std::move(*tensor));
  } else if (auto* list = std::get_if<std::vector<Tensor>>(&slope)) {
    const auto& values = std::get<std::vector<ValueRef>>(operand);
    for (size_t i = 0; i < values.size(); ++i)
      if ((*list)[i].defined()) hand_on(values[i], std::move((*list)[i]));
  }
}
void GradientWalk::hand_on(const ValueRef& value, Tensor gradient) {
  if (forward_.info(value).spec.requires_grad) arrive(value, std::move(gradient));
}

Operand GradientWalk::operand_of(const Arg& arg) {
  if (const auto* tensor = std::get_if<Tensor>(&arg))
    return tensor->defined() ? Operand(own_value(*tensor)) : Operand();
  if (const auto* list = std::get_if<std::vector<Tensor>>(&arg)) {
    std::vector<ValueRef> values;
    for (const Tensor& tensor : *list) values.push_back(own_value(tensor));
    return values;
  }
  if (const auto* scalar = std::get_if<Scalar>(&arg)) {
    if (!scalar->is_unknown()) return *scalar;
    if (scalar->unknown_number() < 1) throw UnknownScalarError();
    return in_graph(stood_[static_cast<size_t>(scalar->unknown_number()) - 1].value);
  }
  if (const auto* dims = std::get_if<DimVec>(&arg)) return *dims;
  if (const auto* dtype = std::get_if<DType>(&arg)) return *dtype;
  if (const auto* text = std::get_if<std::string>(&arg)) return *text;
  return {};
}

ValueRef GradientWalk::own_value(const Tensor& tensor) {
  if (tensor->kind() == TensorKind::Real) return {append_constant(tensor), 0};
  MD_ASSERT(tensor->kind() == TensorKind::Recording, "a fake tensor in a gradient");
  const Stood stood = stood_[reinterpret_cast<size_t>(tensor.recorded_value()) - 1];
  return stood.is_forward ? in_graph(stood.value) : stood.value;
}

}  // namespace md
