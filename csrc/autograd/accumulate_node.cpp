#include "autograd/accumulate_node.h"

#include "autograd/grad_history.h"
#include "autograd/rule_op.h"
#include "tensor/memory_overlap.h"
#include "tensor/ops/write_op.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

// A gradient without another owner, and that lies as the leaf does, is taken as it is.
Tensor taken(Tensor gradient, const Tensor& leaf) {
  bool records = tensor_modes().grad_enabled;
  if (records) return gradient;
  bool lies_so = gradient->kind() != TensorKind::Real || same(gradient.spec().strides, leaf.spec().strides);
  if (lies_so && gradient.is_sole() && !has_expanded_dim(gradient.spec())) return gradient;
  if (gradient->kind() != TensorKind::Real || leaf->kind() != TensorKind::Real) return rule_ops::clone(gradient);
  TensorSpec spec = leaf.spec();
  spec.requires_grad = false;
  Reach reach = reach_of(spec);
  // A leaf whose elements share memory has a gradient that is contiguous.
  bool is_dense = reach.count() == leaf->numel();
  Tensor own = Tensor::empty(is_dense ? spec : TensorSpec::contiguous(spec.dtype, spec.sizes));
  static const OpRow* const copy = find_op("copy");
  Arg args[] = {own, gradient, Scalar(false)};
  write_op(*copy, args, own);
  return own;
}

// In place, but for a gradient that has a history.
Tensor sum_of(const Tensor& before, const Tensor& gradient) {
  if (!tensor_modes().grad_enabled && add_in_place(before, gradient)) return before;
  return rule_ops::add(before, gradient);
}

}  // namespace

AccumulateNode::AccumulateNode(const Tensor& leaf) : GradNode(Last()), leaf_(leaf) {
  outputs.push_back({leaf->dtype(), leaf.spec().sizes});
}

void AccumulateNode::show_gradients(std::vector<Tensor>& gradients) {
  GradNode::show_gradients(gradients);
  Tensor& gradient = gradients.at(0);
  if (!gradient.defined()) return;
  for (const auto& hook : std::vector(own_history(leaf_).hooks))
    if (Tensor replaced = hook->call(gradient); replaced.defined()) gradient = std::move(replaced);
}

std::vector<Tensor> AccumulateNode::apply(std::vector<Tensor> gradients) {
  Tensor gradient = std::move(gradients.at(0));
  gradients.clear();
  if (!gradient.defined()) return {};
  GradHistory& history = own_history(leaf_);
  if (!history.gradient.defined()) {
    history.gradient = taken(std::move(gradient), leaf_);
  } else {
    history.gradient = sum_of(history.gradient, gradient);
  }
  for (const auto& hook : std::vector(history.accumulated_hooks)) hook->call();
  return {};
}

}  // namespace md
