#include "executor/output_views.h"

#include <algorithm>

#include "graph/views.h"
#include "tensor/ops/gradient_flow.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

bool is_view(ValueRef value) { return viewed_by(value).node != nullptr && passes_gradient(*value.node->op); }

struct Chain {
  ValueRef root;
  bool is_one_of_several = false;
};

Chain chain_of(ValueRef value) {
  Chain chain;
  for (; is_view(value); value = viewed_by(value))
    chain.is_one_of_several = chain.is_one_of_several || value.node->op->returns_list();
  chain.root = value;
  return chain;
}

size_t place_of(std::span<const ValueRef> outputs, ValueRef value) {
  return static_cast<size_t>(std::ranges::find(outputs, value) - outputs.begin());
}

ViewOrigin origin_of(const Graph& graph, ValueRef value, const Chain& chain) {
  if (chain.is_one_of_several) return ViewOrigin::OneOfSeveral;
  bool is_cut = graph.info(chain.root).spec.requires_grad && !graph.info(value).spec.requires_grad;
  return is_cut ? ViewOrigin::NoGrad : ViewOrigin::Plain;
}

}  // namespace

std::vector<OutputView> output_views(const Graph& graph, size_t count) {
  std::vector<OutputView> views;
  std::span<const ValueRef> outputs(graph.outputs().begin(), count);
  std::vector<Chain> chains;
  for (const ValueRef& output : outputs) chains.push_back(chain_of(output));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueInfo& info = graph.info(outputs[i]);
    if (info.is_scalar || !(is_inexact(info.spec.dtype))) continue;
    if (outputs[i].node->is_under_inference) continue;
    ViewOrigin origin = origin_of(graph, outputs[i], chains[i]);
    auto input = std::ranges::find(graph.inputs(), chains[i].root.node);
    if (input != graph.inputs().end() && is_view(outputs[i])) {
      views.push_back({static_cast<int>(i), static_cast<int>(input - graph.inputs().begin()), true, origin});
      continue;
    }
    if (!is_view(outputs[i])) continue;
    size_t base = place_of(outputs, chains[i].root);
    // If the value is not an output, the first one of its views is related to the others.
    auto is_related = [&](size_t k) { return chains[k].root == chains[i].root && !(outputs[k] == outputs[i]); };
    for (size_t k = 0; k < i && base == outputs.size(); ++k)
      if (is_related(k)) base = k;
    if (base < outputs.size()) views.push_back({static_cast<int>(i), static_cast<int>(base), false, origin});
  }
  return views;
}

void note_output_views(std::span<const OutputView> views, std::span<const GraphInput> inputs,
                       std::span<const Tensor> outputs) {
  if (!gradients_in_use.load(std::memory_order_relaxed) || tensor_modes().inference_mode) return;
  for (const OutputView& view : views) {
    const Tensor& tensor = outputs[static_cast<size_t>(view.output)];
    auto of = static_cast<size_t>(view.of);
    const Tensor& base = view.of_input ? inputs[of].tensor : outputs[of];
    bool shares = tensor.defined() && base.defined() && tensor->kind() == TensorKind::Real && !is_same(tensor, base) &&
                  base->kind() == TensorKind::Real && tensor->storage().get() == base->storage().get();
    if (shares) note_view(tensor, base, view.origin);
  }
}

}  // namespace md
