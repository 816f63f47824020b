#include "executor/gradient_plan.h"

#include <algorithm>
#include <optional>

#include "autograd/grad_history.h"
#include "autograd/rule_op.h"
#include "base/error.h"
#include "executor/sized_plans.h"
#include "graph/gradient.h"
#include "graph/symbols.h"
#include "graph/views.h"
#include "tensor/memory_overlap.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

// For how many sizes what must know them is kept.
constexpr size_t kMostSizes = 64;

bool is_tensor_input(const Node& node) { return node.kind == NodeKind::TensorInput; }

// A gradient as the backward's plan takes it.
Tensor contiguous(const Tensor& tensor) { return tensor->is_contiguous() ? tensor : rule_ops::contiguous(tensor); }

size_t index_of(const std::vector<ValueRef>& values, ValueRef value) {
  return static_cast<size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

// A node between a run's backward and what its inputs come from: gradients of the backward end here, so that none goes
// on to an input by way of another one.
class PassingNode : public GradNode {
 public:
  explicit PassingNode(const Tensor& tensor, GradEdge to) {
    outputs.push_back({tensor->dtype(), tensor.spec().sizes});
    edges.push_back(std::move(to));
  }
  std::string name() const override { return "IdentityBackward0"; }
  std::vector<Tensor> apply(std::vector<Tensor> gradients) override { return gradients; }
};

class RunNode : public GradNode {
 public:
  RunNode(std::shared_ptr<GradientPlan> plan, std::span<const GraphInput> inputs) : plan_(std::move(plan)) {
    const std::vector<Node*>& nodes = plan_->forward()->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      Saved saved{.scalar = inputs[i].scalar};
      if (is_tensor_input(*nodes[i])) {
        const Tensor& tensor = inputs[i].tensor;
        if (tensor.requires_grad() && plan_->reaches(i)) {
          saved.edge = static_cast<int>(edges.size());
          edges.push_back(edge_of(tensor));
        }
        if (plan_->reads_input(i)) {
          saved.tensor = alias_with_edge(tensor, {});
          saved.version = tensor->version();
        }
      }
      inputs_.push_back(std::move(saved));
    }
  }

  std::string name() const override { return "CompiledFunctionBackward"; }

  void keep_outputs(std::span<const Tensor> results) {
    for (size_t i = 0; i < results.size(); ++i) {
      outputs.push_back({results[i]->dtype(), results[i].spec().sizes});
      Saved saved;
      if (plan_->reads_output(i)) {
        saved.tensor = alias_with_edge(results[i], {});
        saved.version = results[i]->version();
      }
      results_.push_back(std::move(saved));
    }
  }

  std::vector<Tensor> apply(std::vector<Tensor> gradients) override {
    if (is_released_) raise_freed();
    bool records = tensor_modes().grad_enabled;
    std::vector<GraphInput> inputs;
    for (const Saved& saved : inputs_)
      inputs.push_back({.tensor = read(saved, records && saved.edge >= 0, false, saved.edge), .scalar = saved.scalar});
    std::vector<Tensor> results;
    for (size_t i = 0; i < results_.size(); ++i)
      results.push_back(read(results_[i], records && plan_->has_history(i), true, static_cast<int>(i)));
    // A plan that runs again has no further outputs.
    gradients.resize(plan_->forward()->outputs().size());
    results.resize(gradients.size());
    std::vector<Tensor> by_input = plan_->run(inputs, results, gradients, records);
    std::vector<Tensor> by_edge(edges.size());
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].edge >= 0) by_edge[static_cast<size_t>(inputs_[i].edge)] = std::move(by_input[i]);
    return by_edge;
  }

  // A node that has saved nothing may be applied again, as those of single ops.
  void release_saved() override {
    auto is_there = [](const Saved& saved) { return saved.tensor.defined(); };
    if (std::ranges::none_of(inputs_, is_there) && std::ranges::none_of(results_, is_there)) return;
    is_released_ = true;
    inputs_.clear();
    results_.clear();
  }

 private:
  struct Saved {
    Tensor tensor = {};
    uint64_t version = 0;
    Scalar scalar{int64_t{0}};
    int edge = -1;
  };

  Tensor read(const Saved& saved, bool with_history, bool is_result, int index) {
    if (!saved.tensor.defined()) return {};
    if (saved.tensor->version() != saved.version)
      raise(
          ErrorKind::Runtime,
          "one of the variables needed for gradient computation has been modified by an inplace operation: a tensor of "
          "sizes ",
          str(saved.tensor.spec().sizes.span()), " is at version ", saved.tensor->version(), "; expected version ",
          saved.version, " instead.");
    if (!with_history) return saved.tensor;
    if (is_result) return alias_with_edge(saved.tensor, {shared_from_this(), index});
    auto passing = make_grad_node<PassingNode>(saved.tensor, edges[static_cast<size_t>(index)]);
    return alias_with_edge(saved.tensor, {passing, 0});
  }

  std::shared_ptr<GradientPlan> plan_;
  std::vector<Saved> inputs_, results_;
  bool is_released_ = false;
};

}  // namespace

namespace {

bool requires_grad(const Graph& graph, size_t output) {
  const ValueInfo& info = graph.info(graph.outputs()[output]);
  return !info.is_scalar && info.spec.requires_grad;
}

// Values that are written to inputs under no_grad, and require grad because the inputs do: nothing goes back through
// them.
std::vector<ValueRef> cut_values(const Graph& graph, const std::vector<InputWrite>& writes) {
  std::vector<ValueRef> values;
  for (const InputWrite& write : writes)
    if (requires_grad(graph, static_cast<size_t>(write.output)))
      values.push_back(graph.outputs()[static_cast<size_t>(write.output)]);
  return values;
}

// Whether the value is a view, or a view of a view, that an op made together with others.
bool views_one_of_several(ValueRef value) {
  for (ValueRef viewed; (viewed = viewed_by(value)).node != nullptr; value = viewed)
    if (value.node->op->returns_list()) return true;
  return false;
}

bool fills_memory(const TensorSpec& spec) {
  if (!any_symbolic(spec.sizes.span())) return is_dense(spec);
  return same_layout(spec, TensorSpec::contiguous(spec.dtype, spec.sizes));
}

ValueRef root_of(ValueRef value) {
  for (ValueRef viewed; (viewed = viewed_by(value)).node != nullptr;) value = viewed;
  return value;
}

// Makes what several outputs with a history are views of an output as well, and what one is that repeats elements:
// written to, it has their history. False: it does not fill its memory, so that no object has all of its views in it.
bool add_viewed(Graph& graph, const std::vector<ValueRef>& cut) {
  std::vector<ValueRef> outputs = graph.outputs(), roots;
  for (const ValueRef& output : outputs) roots.push_back(root_of(output));
  for (size_t i = 0; i < roots.size(); ++i) {
    const ValueRef& root = roots[i];
    if (!requires_grad(graph, i) || index_of(cut, outputs[i]) < cut.size()) continue;
    bool is_alone = std::ranges::count(roots, root) == 1 && !has_expanded_dim(graph.info(outputs[i]).spec);
    if (root.node->kind != NodeKind::Op || is_alone) continue;
    if (!fills_memory(graph.info(root).spec)) return false;
    if (index_of(outputs, root) == outputs.size()) outputs.push_back(root);
  }
  graph.set_outputs(std::move(outputs));
  return true;
}

// By input: whether a value with a history was computed from it by operations that are recorded.
std::vector<bool> inputs_of_history(const Graph& graph, const std::vector<bool>& has_history) {
  std::vector<bool> is_in(graph.nodes().size());
  for (size_t i = 0; i < has_history.size(); ++i)
    if (has_history[i]) is_in[static_cast<size_t>(graph.outputs()[i].node->index)] = true;
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    if (!is_in[i] || graph.nodes()[i]->kind != NodeKind::Op) continue;
    for (const Operand& operand : graph.nodes()[i]->operands) {
      for_each_value(operand, [&](const ValueRef& value) {
        const ValueInfo& info = graph.info(value);
        if (!info.is_scalar && info.spec.requires_grad) is_in[static_cast<size_t>(value.node->index)] = true;
      });
    }
  }
  std::vector<bool> by_input;
  for (const Node* input : graph.inputs()) by_input.push_back(is_in[static_cast<size_t>(input->index)]);
  return by_input;
}

GradientGraph gradients_given(const Graph& forward, const std::vector<bool>& given, ReliedSizes& relied) {
  auto has = std::make_unique<bool[]>(given.size());
  std::ranges::copy(given, has.get());
  return gradient_graph(forward, {has.get(), given.size()}, relied);
}

bool runs_once(const Graph& graph) {
  return graph.has_host_call() || std::ranges::any_of(graph.nodes(), [](const auto& node) { return draws(*node); });
}

}  // namespace

GradientPlan::Chosen GradientPlan::choose(const std::shared_ptr<const Graph>& graph,
                                          const std::vector<InputWrite>& writes, Forward saves, Recorder recorder,
                                          ReliedSizes relied) {
  std::vector<ValueRef> cut = cut_values(*graph, writes);
  bool any = false;
  for (size_t i = 0; i < graph->outputs().size(); ++i)
    any = any || (requires_grad(*graph, i) && index_of(cut, graph->outputs()[i]) == cut.size());
  if (!any) return {};
  auto plan = std::shared_ptr<GradientPlan>(new GradientPlan);
  // In the plan of a callable backend what is drawn, or done once, cannot be had again: its graph has further outputs.
  plan->saves_ = runs_once(*graph) ? Forward::Saves : saves;
  plan->own_outputs_ = graph->outputs().size();
  bool is_ours = cut.empty() && saves == Forward::Saves && recorder == Recorder::Tape;
  Chosen other{is_ours ? GradientWay::OpByOp : GradientWay::Python, nullptr};
  std::shared_ptr<Graph> forward = graph->clone();
  cut = cut_values(*forward, writes);
  if (plan->saves() && !add_viewed(*forward, cut)) {
    if (recorder == Recorder::Tape) return other;
    return {GradientWay::Python, nullptr, "a value whose views are results does not fill its memory"};
  }
  size_t count = forward->outputs().size();
  plan->viewed_outputs_ = count;
  auto given = std::make_unique<bool[]>(count);
  for (size_t i = 0; i < count; ++i) {
    given[i] = requires_grad(*forward, i) && index_of(cut, forward->outputs()[i]) == cut.size();
    plan->has_history_.push_back(given[i]);
  }
  if (graph->keeps_histories()) return other;
  try {
    plan->relied_ = std::move(relied);
    GradientGraph gradients = gradient_graph(*forward, {given.get(), count}, plan->relied_);
    // Values that results are views of have gradients only where they are written to.
    auto end_of_results = plan->has_history_.begin() + static_cast<std::ptrdiff_t>(plan->own_outputs_);
    std::vector<bool> of_results(plan->has_history_.begin(), end_of_results);
    of_results.resize(count);
    std::optional<GradientGraph> usual;
    if (forward->is_symbolic() && of_results != plan->has_history_)
      usual = gradients_given(*forward, of_results, plan->relied_);
    // Guards are made of them now.
    plan->relied_.may_guard = nullptr;
    for (const ValueRef& value : cut)
      if (std::ranges::find(gradients.reached, value) != gradients.reached.end())
        return {GradientWay::Python, nullptr, "a gradient goes through a value that is written to an argument"};
    plan->save(std::move(gradients), std::move(forward));
    of_results.resize(plan->forward_->outputs().size());
    if (usual) plan->keep(std::move(of_results), std::move(*usual));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Internal) throw;
    other.why = error.what();
    return other;
  }
  return {GradientWay::Plan, std::move(plan)};
}

void GradientPlan::save(GradientGraph gradients, std::shared_ptr<Graph> graph) {
  std::vector<ValueRef> outputs = graph->outputs();
  for (const ValueRef& saved : gradients.saved)
    if (index_of(outputs, saved) == outputs.size()) outputs.push_back(saved);
  graph->set_outputs(outputs);
  reaches_ = inputs_of_history(*graph, has_history_);
  reads_.assign(graph->inputs().size(), saves_ == Forward::RunsAgain);
  for (int input : gradients.inputs) reads_[static_cast<size_t>(input)] = true;
  reads_output_.assign(outputs.size(), false);
  for (const ValueRef& saved : gradients.saved) reads_output_[index_of(outputs, saved)] = true;
  for (size_t i = 0; i < own_outputs_; ++i) is_one_of_several_.push_back(views_one_of_several(outputs[i]));
  std::vector<bool> given = has_history_;
  given.resize(outputs.size());
  while (has_history_.size() < outputs.size()) has_history_.push_back(requires_grad(*graph, has_history_.size()));
  forward_ = std::move(graph);
  keep(std::move(given), std::move(gradients));
}

std::shared_ptr<GradientPlan::Backward> GradientPlan::make_backward(const Graph& forward,
                                                                    GradientGraph gradients) const {
  auto backward = std::make_shared<Backward>(Backward{std::move(gradients), {}, nullptr, relied_.relations, {}, {}});
  for (const ValueRef& saved : backward->gradients.saved) {
    size_t output = index_of(forward.outputs(), saved);
    MD_ASSERT(output < forward.outputs().size(), "what a backward reads was saved");
    backward->saved.push_back(output);
  }
  return backward;
}

std::shared_ptr<GradientPlan::Backward> GradientPlan::keep(std::vector<bool> given, GradientGraph gradients) {
  return backwards_[std::move(given)] = make_backward(*forward_, std::move(gradients));
}

std::shared_ptr<GradientPlan::Backward> GradientPlan::backward_for(std::span<const GraphInput> inputs,
                                                                   std::span<const Tensor> given) {
  std::vector<bool> key;
  for (const Tensor& gradient : given) key.push_back(gradient.defined());
  std::lock_guard lock(mutex_);
  auto found = backwards_.find(key);
  if (found != backwards_.end()) return found->second ? found->second : backward_for_sizes(key, inputs);
  try {
    GradientGraph gradients = gradients_given(*forward_, key, relied_);
    return keep(std::move(key), std::move(gradients));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::NotImplemented || !forward_->is_symbolic()) throw;
    backwards_[key] = nullptr;
    return backward_for_sizes(key, inputs);
  }
}

std::shared_ptr<GradientPlan::Backward> GradientPlan::backward_for_sizes(const std::vector<bool>& given,
                                                                         std::span<const GraphInput> inputs) {
  SymbolList symbols = symbols_of(*forward_);
  std::vector<int64_t> sizes = symbol_values(symbol_places(*forward_, symbols), inputs);
  if (sized_backwards_.size() >= kMostSizes) sized_backwards_.clear();
  std::shared_ptr<Backward>& backward = sized_backwards_[sizes][given];
  if (backward == nullptr) {
    std::shared_ptr<const Graph> forward = with_numbers(*forward_, symbols, sizes);
    ReliedSizes none;
    backward = make_backward(*forward, gradients_given(*forward, given, none));
  }
  return backward;
}

std::vector<GraphInput> GradientPlan::inputs_of(const Backward& backward, std::span<const GraphInput> inputs,
                                                std::span<const Tensor> outputs, std::span<const Tensor> given) {
  std::vector<GraphInput> of_plan;
  for (int input : backward.gradients.inputs) of_plan.push_back(inputs[static_cast<size_t>(input)]);
  for (size_t output : backward.saved) of_plan.push_back({.tensor = outputs[output]});
  for (const Tensor& gradient : given)
    if (gradient.defined()) of_plan.push_back({.tensor = contiguous(gradient)});
  return of_plan;
}

const Plan& GradientPlan::plan_of(Backward& backward) {
  if (backward.plan == nullptr) backward.plan = lower(std::shared_ptr<const Graph>(backward.gradients.graph));
  return *backward.plan;
}

GradientPlan::Chosen GradientPlan::choose_again(const Backward& backward, std::span<const int64_t> requires_grad,
                                                std::span<const int64_t> sizes) {
  const Graph& known = *backward.gradients.graph;
  std::shared_ptr<Graph> graph = sizes.empty() ? known.clone() : with_numbers(known, symbols_of(known), sizes);
  auto flags = std::make_unique<bool[]>(requires_grad.size());
  std::ranges::copy(requires_grad, flags.get());
  mark_requires_grad(*graph, {flags.get(), requires_grad.size()});
  return choose(graph, {}, Forward::Saves, Recorder::Library, {backward.relied, nullptr});
}

std::shared_ptr<GradientPlan> GradientPlan::again_for(Backward& backward, std::span<const GraphInput> inputs) {
  const Graph& graph = *backward.gradients.graph;
  std::vector<int64_t> flags, sizes;
  for (const GraphInput& input : inputs)
    flags.push_back(input.tensor.defined() && input.tensor.requires_grad() ? 1 : 0);
  std::vector<int64_t> key = flags;
  if (backward.sized.contains(flags)) {
    sizes = symbol_values(symbol_places(graph, symbols_of(graph)), inputs);
    key.insert(key.end(), sizes.begin(), sizes.end());
  }
  auto found = backward.again.find(key);
  if (found != backward.again.end()) return found->second;
  Chosen chosen = choose_again(backward, flags, sizes);
  if (chosen.way == GradientWay::Python) {
    if (!graph.is_symbolic() || !sizes.empty())
      raise(ErrorKind::Runtime, "gradients of the gradients of a compiled function cannot be computed here");
    backward.sized.insert(std::move(flags));
    return again_for(backward, inputs);
  }
  if (backward.again.size() >= kMostSizes) backward.again.clear();
  return backward.again.emplace(std::move(key), std::move(chosen.plan)).first->second;
}

const Plan& GradientPlan::forward_plan() {
  if (forward_plan_ == nullptr) forward_plan_ = lower(forward_);
  return *forward_plan_;
}

std::vector<Tensor> GradientPlan::run(std::span<const GraphInput> inputs, std::span<const Tensor> outputs,
                                      std::span<const Tensor> given, bool creates_graph) {
  std::shared_ptr<Backward> known = backward_for(inputs, given);
  Backward& backward = *known;
  std::vector<Tensor> again;
  if (!saves() && !backward.saved.empty()) {
    again = run_again(inputs);
    outputs = again;
  }
  std::vector<GraphInput> of_plan = inputs_of(backward, inputs, outputs, given);
  std::vector<Tensor> results(backward.gradients.graph->outputs().size());
  if (creates_graph) {
    results = run_with_histories(*backward.gradients.graph, of_plan);
  } else {
    plan_of(backward).run(of_plan, results);
  }
  std::vector<Tensor> by_input(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (int output = backward.gradients.outputs[i]; output >= 0) by_input[i] = results[static_cast<size_t>(output)];
  return by_input;
}

// With a history under grad mode: gradients of gradients go through it.
std::vector<Tensor> GradientPlan::run_again(std::span<const GraphInput> inputs) {
  if (tensor_modes().grad_enabled) return run_with_histories(*forward_, inputs, false);
  std::vector<Tensor> outputs(forward_->outputs().size());
  forward_plan().run(inputs, outputs);
  return outputs;
}

namespace {

class HistoryPlan : public Plan {
 public:
  explicit HistoryPlan(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {}
  void run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const override {
    std::vector<Tensor> results = run_with_histories(*graph_, inputs, false);
    for (size_t i = 0; i < results.size(); ++i) outputs[i] = std::move(results[i]);
  }
  std::string print() const override { return "op by op, each with its history:\n" + md::print(*graph_); }
  double estimated_ns() const override { return 0; }
  bool needs_gil() const override { return true; }

 private:
  std::shared_ptr<const Graph> graph_;
};

}  // namespace

std::shared_ptr<const Plan> history_plan(const std::shared_ptr<const Graph>& graph) {
  auto make = [](const std::shared_ptr<const Graph>& concrete, const std::string&) -> std::shared_ptr<const Plan> {
    return std::make_shared<HistoryPlan>(concrete);
  };
  return plan_for_any_sizes(graph, {.make = make});
}

namespace {

void note_one_of_several(const Tensor& tensor, ValueRef value) {
  GradHistory& history = own_history(tensor);
  history.origin = ViewOrigin::OneOfSeveral;
  history.made_by = value.node->op;
  history.made_output = value.out;
}

}  // namespace

RunHistory::RunHistory(std::shared_ptr<GradientPlan> plan, std::span<const GraphInput> inputs,
                       std::span<const InputWrite> writes)
    : plan_(std::move(plan)), inputs_(inputs.begin(), inputs.end()), writes_(writes.begin(), writes.end()) {
  for (const InputWrite& write : writes_) {
    auto input = static_cast<size_t>(write.input);
    written_.push_back(inputs_[input].tensor);
    if (!plan_->reads_input(input)) continue;
    GradEdge edge = edge_of(inputs_[input].tensor);
    Tensor copy = rule_ops::clone(alias_with_edge(inputs_[input].tensor, {}));
    if (edge.node) set_edge(copy, std::move(edge));
    inputs_[input].tensor = copy;
  }
}

void RunHistory::finish(std::span<Tensor> outputs) {
  auto node = make_grad_node<RunNode>(plan_, inputs_);
  node->keep_outputs(outputs);
  auto is_written = [&](const Tensor& tensor) {
    return std::ranges::any_of(written_, [&](const Tensor& each) { return is_same(each, tensor); });
  };
  // An input that a plan returns as it is stays what it is.
  auto is_input = [&](const Tensor& tensor) {
    return std::ranges::any_of(
        inputs_, [&](const GraphInput& input) { return input.tensor.defined() && is_same(input.tensor, tensor); });
  };
  for (size_t i = 0; i < plan_->viewed_outputs(); ++i) {
    if (is_written(outputs[i])) continue;
    if (is_input(outputs[i])) outputs[i] = alias_with_edge(outputs[i], {});
    if (plan_->has_history(i)) {
      set_edge(outputs[i], {node, static_cast<int>(i)});
    } else if (outputs[i].requires_grad()) {
      forget_history(outputs[i]);
    }
    if (i < plan_->own_outputs() && plan_->is_one_of_several(i))
      note_one_of_several(outputs[i], plan_->forward()->outputs()[i]);
  }
}

}  // namespace md
