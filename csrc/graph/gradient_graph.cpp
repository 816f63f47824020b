#include "graph/gradient_graph.h"

#include <algorithm>

#include "base/error.h"
#include "graph/gradient_walk.h"
#include "graph/passes.h"
#include "graph/symbols.h"
#include "graph/views.h"

namespace md {
namespace {

class GradientBuilder : public GradientWalk {
 public:
  GradientBuilder(const Graph& forward, std::span<const bool> has_gradient)
      : GradientWalk(forward), has_gradient_(has_gradient), graph_(std::make_shared<Graph>()) {}

  GradientGraph build() {
    require_sizes_of_inputs();
    start();
    for (size_t i = forward_.nodes().size(); i-- > 0;) differentiate(*forward_.nodes()[i]);
    GradientGraph result;
    result.outputs.assign(forward_.inputs().size(), -1);
    std::vector<ValueRef> outputs;
    for (size_t i = 0; i < forward_.inputs().size(); ++i) {
      auto found = gradients().find({forward_.inputs()[i], 0});
      bool is_wanted =
          forward_.inputs()[i]->kind == NodeKind::TensorInput && forward_.inputs()[i]->outs[0].spec.requires_grad;
      if (!is_wanted || found == gradients().end()) continue;
      result.outputs[i] = static_cast<int>(outputs.size());
      outputs.push_back(own_value(found->second));
    }
    graph_->set_outputs(outputs);
    for (const auto& [value, gradient] : gradients())
      if (value.node->kind == NodeKind::Op) result.reached.push_back(value);
    order_inputs(result);
    run_passes(*graph_);
    refuse_sizes_of_data();
    result.graph = graph_;
    return result;
  }

 private:
  Node* append(const OpRow& row, std::vector<Operand> operands) override {
    return graph_->add_op(row, std::move(operands));
  }
  Node* append_constant(const Tensor& value) override { return graph_->add_constant("constant", value); }

  // Symbolic sizes are read from the inputs that the forward graph reads them from.
  void require_sizes_of_inputs() {
    graph_->keep_dims(forward_.kept_dims());
    for (Node* input : forward_.inputs()) {
      const ValueInfo& info = input->outs[0];
      bool has_symbols = input->size.is_symbolic() || any_symbolic(info.spec.sizes.span());
      if (has_symbols) in_graph({input, 0});
    }
  }

  // A number that only run-time assertions read is none of the gradients' sizes.
  void refuse_sizes_of_data() const {
    SymbolList symbols = symbols_of(*graph_);
    for (const auto& node : forward_.nodes())
      if (node->kind == NodeKind::Op && node->size.is_symbolic() && symbols.find(node->size) >= 0)
        raise(ErrorKind::NotImplemented, "gradients of a graph with sizes that are read from tensors");
  }

  // The gradients of outputs are inputs.
  void start() {
    for (size_t i = 0; i < forward_.outputs().size(); ++i) {
      const ValueRef& output = forward_.outputs()[i];
      if (!has_gradient_[i]) continue;
      TensorSpec spec = forward_.info(output).spec;
      Node* node = graph_->add_tensor_input("gradient", TensorSpec::contiguous(spec.dtype, spec.sizes));
      starts_.push_back(node);
      arrive(output, standing_for_built({node, 0}, node->outs[0].spec));
    }
  }

  // A value of the forward graph: an input of the new one, or made again there where that costs nothing.
  ValueRef in_graph(ValueRef value) override {
    auto found = in_graph_.find(value);
    if (found != in_graph_.end()) return found->second;
    ValueRef own = made_in_graph(value);
    in_graph_[value] = own;
    return own;
  }
  ValueRef made_in_graph(ValueRef value) {
    const Node& node = *value.node;
    if (node.kind == NodeKind::TensorConst) return {graph_->add_constant("constant", node.constant), 0};
    if (node.kind == NodeKind::Op && is_strided_view(node)) return view_again(value);
    if (node.kind == NodeKind::ScalarInput) {
      Node* input = graph_->add_scalar_input(node.name, node.outs[0].scalar_kind);
      input->size = node.size;
      inputs_.push_back({value, input});
      return {input, 0};
    }
    TensorSpec spec = forward_.info(value).spec;
    spec.requires_grad = false;
    Node* input = graph_->add_tensor_input(node.name, spec);
    inputs_.push_back({value, input});
    return {input, 0};
  }
  ValueRef view_again(ValueRef value) {
    std::vector<Operand> operands = value.node->operands;
    for (Operand& operand : operands) for_each_value(operand, [&](ValueRef& each) { each = in_graph(each); });
    Node* node = graph_->add_op(*value.node->op, std::move(operands));
    for (size_t i = 0; i < node->outs.size(); ++i) {
      node->outs[i].spec.requires_grad = false;
      in_graph_[{value.node, static_cast<int>(i)}] = {node, static_cast<int>(i)};
    }
    return {node, value.out};
  }

  // Inputs of the forward graph first, then results, then gradients.
  void order_inputs(GradientGraph& result) {
    std::vector<Node*> order;
    auto add = [&](bool of_inputs) {
      for (const auto& [value, input] : inputs_) {
        if ((value.node->kind != NodeKind::Op) != of_inputs) continue;
        order.push_back(input);
        if (of_inputs) {
          result.inputs.push_back(position_of(value.node));
        } else {
          result.saved.push_back(value);
        }
      }
    };
    add(true);
    add(false);
    order.insert(order.end(), starts_.begin(), starts_.end());
    graph_->order_inputs(order);
  }
  int position_of(const Node* node) const {
    for (size_t i = 0; i < forward_.inputs().size(); ++i)
      if (forward_.inputs()[i] == node) return static_cast<int>(i);
    raise(ErrorKind::Internal, "a node is no input of its graph");
  }

  std::span<const bool> has_gradient_;
  std::shared_ptr<Graph> graph_;
  std::vector<Node*> starts_;
  std::vector<std::pair<ValueRef, Node*>> inputs_;
  std::unordered_map<ValueRef, ValueRef, HashValue> in_graph_;
};

class ReliedSink : public ShapeGuardSink {
 public:
  explicit ReliedSink(ReliedSizes& relied) : relied_(relied), before_(exchange_shape_guard_sink(this)) {}
  ~ReliedSink() override { exchange_shape_guard_sink(before_); }
  ReliedSink(const ReliedSink&) = delete;
  ReliedSink& operator=(const ReliedSink&) = delete;
  void relation(Dim a, DimRelation relation, Dim b) override {
    auto is_same = [&](const SizeRelation& each) {
      return same(each.a, a) && each.relation == relation && same(each.b, b);
    };
    if (std::ranges::any_of(relied_.relations, is_same)) return;
    if (!may_guard(a, b)) raise(ErrorKind::NotImplemented, "a gradient depends on whether ", a.str(), " is ", b.str());
    relied_.relations.push_back({a, relation, b});
  }

 private:
  bool may_guard(Dim a, Dim b) const {
    if (relied_.may_guard == nullptr) return false;
    SymbolList symbols;
    symbols.add(a);
    symbols.add(b);
    return std::ranges::all_of(symbols.symbols(), [&](Dim each) { return relied_.may_guard->find(each) >= 0; });
  }

  ReliedSizes& relied_;
  ShapeGuardSink* before_;
};

}  // namespace

GradientGraph gradient_graph(const Graph& forward, std::span<const bool> has_gradient, ReliedSizes& relied) {
  ReliedSink sink(relied);
  return GradientBuilder(forward, has_gradient).build();
}

}  // namespace md
