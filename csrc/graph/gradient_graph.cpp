#include "graph/gradient_graph.h"

#include <unordered_map>

#include "autograd/derivative.h"
#include "autograd/rule_op.h"
#include "base/error.h"
#include "graph/passes.h"
#include "graph/views.h"

namespace md {
namespace {

struct HashValue {
  size_t operator()(const ValueRef& value) const {
    return std::hash<const Node*>()(value.node) * 31 + static_cast<size_t>(value.out);
  }
};

// Builds the graph: rules run on recording tensors, each of which stands for a value of the forward graph or of the new
// one.
class GradientBuilder : public Recorder {
 public:
  GradientBuilder(const Graph& forward, std::span<const bool> has_gradient)
      : forward_(forward), has_gradient_(has_gradient), graph_(std::make_shared<Graph>()) {}

  GradientGraph build() {
    require_sizes_of_inputs();
    start();
    for (size_t i = forward_.nodes().size(); i-- > 0;) differentiate(*forward_.nodes()[i]);
    GradientGraph result;
    result.outputs.assign(forward_.inputs().size(), -1);
    std::vector<ValueRef> outputs;
    for (size_t i = 0; i < forward_.inputs().size(); ++i) {
      auto found = gradients_.find({forward_.inputs()[i], 0});
      bool is_wanted =
          forward_.inputs()[i]->kind == NodeKind::TensorInput && forward_.inputs()[i]->outs[0].spec.requires_grad;
      if (!is_wanted || found == gradients_.end()) continue;
      result.outputs[i] = static_cast<int>(outputs.size());
      outputs.push_back(own_value(found->second));
    }
    graph_->set_outputs(outputs);
    for (const auto& [value, gradient] : gradients_)
      if (value.node->kind == NodeKind::Op) result.reached.push_back(value);
    order_inputs(result);
    run_passes(*graph_);
    result.graph = graph_;
    return result;
  }

  std::vector<Tensor> record(const OpRow& row, std::span<const Arg> args) override {
    std::vector<Operand> operands;
    for (const Arg& arg : args) operands.push_back(operand_of(arg));
    Node* node = graph_->add_op(row, std::move(operands));
    std::vector<Tensor> results;
    for (size_t i = 0; i < node->outs.size(); ++i) {
      node->outs[i].spec.requires_grad = false;
      results.push_back(standing_for({node, static_cast<int>(i)}, node->outs[i].spec, false));
    }
    return results;
  }

 private:
  struct Stood {
    ValueRef value;
    bool is_forward;
  };

  Tensor standing_for(ValueRef value, TensorSpec spec, bool is_forward) {
    spec.requires_grad = false;
    stood_.push_back({value, is_forward});
    return Tensor::recording(spec, this, reinterpret_cast<void*>(stood_.size()));
  }

  // Symbolic sizes are read from the inputs that the forward graph reads them from.
  void require_sizes_of_inputs() {
    graph_->keep_dims(forward_.kept_dims());
    for (const auto& node : forward_.nodes())
      if (node->size.is_symbolic() && node->kind == NodeKind::Op)
        raise(ErrorKind::NotImplemented, "gradients of a graph with sizes that are read from tensors");
    for (Node* input : forward_.inputs()) {
      const ValueInfo& info = input->outs[0];
      bool has_symbols = input->size.is_symbolic() || any_symbolic(info.spec.sizes.span());
      if (has_symbols) in_graph({input, 0});
    }
  }

  // The gradients of outputs are inputs.
  void start() {
    for (size_t i = 0; i < forward_.outputs().size(); ++i) {
      const ValueRef& output = forward_.outputs()[i];
      if (!has_gradient_[i]) continue;
      TensorSpec spec = forward_.info(output).spec;
      Node* node = graph_->add_tensor_input("gradient", TensorSpec::contiguous(spec.dtype, spec.sizes));
      starts_.push_back(node);
      arrive(output, standing_for({node, 0}, node->outs[0].spec, false));
    }
  }

  void arrive(const ValueRef& value, Tensor gradient) {
    Tensor& total = gradients_[value];
    total = total.defined() ? Tensor(rule_ops::add(total, gradient)) : std::move(gradient);
  }

  Arg forward_arg(const Operand& operand) {
    auto value_of = [this](ValueRef value) -> Arg {
      const ValueInfo& info = forward_.info(value);
      if (info.is_scalar) return Scalar::unknown(info.scalar_kind, static_cast<int64_t>(stand_for_scalar(value)));
      return forward_tensor(value);
    };
    return to_arg(operand, value_of);
  }
  size_t stand_for_scalar(ValueRef value) {
    stood_.push_back({value, true});
    return stood_.size();
  }
  Tensor forward_tensor(ValueRef value) { return standing_for(value, forward_.info(value).spec, true); }

  bool requires_grad(const Operand& operand) const {
    bool found = false;
    for_each_value(operand, [&](const ValueRef& value) {
      const ValueInfo& info = forward_.info(value);
      found = found || (!info.is_scalar && info.spec.requires_grad);
    });
    return found;
  }

  void differentiate(const Node& node) {
    if (node.kind != NodeKind::Op) return;
    std::vector<Tensor> gradients(node.outs.size());
    bool has_any = false;
    for (size_t i = 0; i < node.outs.size(); ++i) {
      auto found = gradients_.find({const_cast<Node*>(&node), static_cast<int>(i)});
      if (found == gradients_.end() || !node.outs[i].spec.requires_grad) continue;
      gradients[i] = found->second;
      has_any = true;
    }
    if (!has_any) return;
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
    std::vector<Tensor> results;
    for (size_t i = 0; i < node.outs.size(); ++i)
      results.push_back(forward_tensor({const_cast<Node*>(&node), static_cast<int>(i)}));
    std::vector<Arg> slopes =
        gradients_of(*derivative, {*node.op, args, results, gradients, {wanted.get(), node.operands.size()}});
    for (size_t i = 0; i < slopes.size(); ++i) hand_on(node.operands[i], slopes[i]);
  }

  void hand_on(const Operand& operand, Arg& slope) {
    if (auto* tensor = std::get_if<Tensor>(&slope)) {
      if (tensor->defined()) hand_on(std::get<ValueRef>(operand), std::move(*tensor));
    } else if (auto* list = std::get_if<std::vector<Tensor>>(&slope)) {
      const auto& values = std::get<std::vector<ValueRef>>(operand);
      for (size_t i = 0; i < values.size(); ++i)
        if ((*list)[i].defined()) hand_on(values[i], std::move((*list)[i]));
    }
  }
  void hand_on(const ValueRef& value, Tensor gradient) {
    if (forward_.info(value).spec.requires_grad) arrive(value, std::move(gradient));
  }

  Operand operand_of(const Arg& arg) {
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

  // The value of the new graph that a tensor stands for.
  ValueRef own_value(const Tensor& tensor) {
    if (tensor->kind() == TensorKind::Real) return {graph_->add_constant("constant", tensor), 0};
    MD_ASSERT(tensor->kind() == TensorKind::Recording, "a fake tensor in a gradient");
    const Stood& stood = stood_[reinterpret_cast<size_t>(tensor.recorded_value()) - 1];
    return stood.is_forward ? in_graph(stood.value) : stood.value;
  }

  // A value of the forward graph: an input of the new one, or made again there where that costs nothing.
  ValueRef in_graph(ValueRef value) {
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

  const Graph& forward_;
  std::span<const bool> has_gradient_;
  std::shared_ptr<Graph> graph_;
  std::vector<Node*> starts_;
  std::vector<std::pair<ValueRef, Node*>> inputs_;
  std::vector<Stood> stood_;
  std::unordered_map<ValueRef, Tensor, HashValue> gradients_;
  std::unordered_map<ValueRef, ValueRef, HashValue> in_graph_;
};

// A rule that must know more of a symbolic size than follows from its expression cannot be captured: no guard is left
// to add.
class RefusingSink : public ShapeGuardSink {
 public:
  RefusingSink() : before_(exchange_shape_guard_sink(this)) {}
  ~RefusingSink() override { exchange_shape_guard_sink(before_); }
  RefusingSink(const RefusingSink&) = delete;
  RefusingSink& operator=(const RefusingSink&) = delete;
  void relation(Dim a, DimRelation, Dim b) override {
    raise(ErrorKind::NotImplemented, "a gradient depends on whether ", a.str(), " is ", b.str());
  }

 private:
  ShapeGuardSink* before_;
};

}  // namespace

GradientGraph gradient_graph(const Graph& forward, std::span<const bool> has_gradient) {
  RefusingSink sink;
  return GradientBuilder(forward, has_gradient).build();
}

}  // namespace md
