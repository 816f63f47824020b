// The gradients of what the graph has computed so far are appended to it. Those of leaves become pending values of
// their attribute grad.
#include "symbolic/tensors/backward_calls.h"

#include <algorithm>
#include <unordered_set>

#include "cpython/text.h"
#include "graph/appended_gradients.h"
#include "graph/views.h"
#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/tensors/gradient_attributes.h"
#include "symbolic/tensors/tensor_ops.h"
#include "symbolic/tensors/tensor_writes.h"
#include "tensor/memory_overlap.h"

namespace md {
namespace {

[[noreturn]] void refuse(std::string what) { graph_break(BreakReason::backward, std::move(what)); }

// Where a gradient ends.
struct Leaf {
  ValuePtr tensor;
  ValueRef gradient;
};

// retains: the nodes may be gone back through again. creates: what they compute has a history.
struct BackwardOptions {
  bool retains = false, creates = false;
};

bool is_computed(const ValuePtr& value) {
  auto* tensor = as<TensorValue>(value);
  return tensor != nullptr && tensor->source == nullptr;
}

class BackwardCapture {
 public:
  BackwardCapture(Tracer& tracer, const TensorFamily& family, BackwardOptions options)
      : tracer_(tracer),
        family_(family),
        options_(options),
        builder_(tracer.builder()),
        runs_(builder_.gradient_runs()) {
    if (family.gradients == nullptr) refuse(str_cat("a tensor of ", family.name));
    if (tracer.outputs().has_output() || has_program_call()) refuse("after a call of the program's code");
    if (builder_.modes(family).inference) refuse("inference mode");
    if (options.creates && !builder_.modes(family).grad) refuse("create_graph where grad mode is off");
    tracer.guards().global_state(family);
    if (family.gradients->are_watched()) refuse("anomaly mode, or hooks of saved tensors");
  }

  // gradient: a tensor or None.
  void add_root(const ValuePtr& root, const ValuePtr& gradient) {
    auto* tensor = own_tensor(root);
    tracer_.values().guard_tensor(tensor);
    if (!tensor->spec.requires_grad) raise_here();
    ValueRef value = builder_.graph_value(tensor);
    starts_.push_back({value, same_object(tracer_, gradient, tracer_.values().none()) ? ones_like(tensor->spec)
                                                                                      : given(gradient, *tensor)});
  }

  void run_to_leaves() {
    AppendedGradients found = run(std::nullopt);
    std::vector<Leaf> leaves;
    for (auto [value, gradient] : found.leaves) leaves.push_back({leaf_of(value), gradient});
    for (const Leaf& leaf : leaves) {
      accumulate(leaf);
      if (!is_computed(leaf.tensor)) runs_.note_leaf(leaf.tensor);
    }
  }

  // Of the leaves, to these alone.
  void run_into(const std::vector<ValuePtr>& ends) {
    auto is_no_leaf = [&](const ValuePtr& end) {
      return is_computed(end) && runs_.new_leaf(as<TensorValue>(end)->ref) == nullptr;
    };
    if (std::ranges::any_of(ends, is_no_leaf)) refuse("a gradient that a computed tensor retains");
    AppendedGradients found = run_to_values(ends);
    std::vector<ValueRef> added;
    for (size_t i = 0; i < ends.size(); ++i) {
      ValueRef leaf = builder_.graph_value(own_tensor(ends[i]));
      if (found.ends[i].node == nullptr || std::ranges::find(added, leaf) != added.end()) continue;
      added.push_back(leaf);
      accumulate({ends[i], found.ends[i]});
    }
  }

  // A tensor or None for each end.
  ValuePtr run_to(const std::vector<ValuePtr>& ends) {
    AppendedGradients found = run_to_values(ends);
    std::vector<ValuePtr> results;
    for (const ValueRef& gradient : found.ends) {
      results.push_back(gradient.node != nullptr ? new_tensor(apart(gradient)) : tracer_.values().none());
    }
    return make_value<SequenceValue>(false, std::move(results));
  }

 private:
  // Such calls may have read tensors that require grad.
  bool has_program_call() const {
    return std::ranges::any_of(tracer_.graph().nodes(), [this](const auto& node) {
      return is_op(*node, OpKind::HostCall) && !runs_.is_without_gradients(node.get());
    });
  }

  TensorValue* own_tensor(const ValuePtr& value) {
    auto* tensor = as<TensorValue>(value);
    if (tensor == nullptr) refuse("a node in the place of a tensor");
    if (tensor->family != &family_) refuse(str_cat("a tensor of ", tensor->family->name));
    return tensor;
  }

  // Of a real number.
  ValueRef ones_like(const TensorSpec& spec) {
    static const OpRow* const ones = find_op("ones");
    if (!known_equal(spec.numel(), 1) || !is_floating(spec.dtype)) raise_here();
    return {builder_.add_op(*ones, {spec.sizes, spec.dtype}), 0};
  }

  ValueRef given(const ValuePtr& gradient, const TensorValue& root) {
    static const OpRow* const cast = find_op("cast");
    auto* tensor = as<TensorValue>(gradient);
    if (tensor == nullptr) raise_here();
    own_tensor(gradient);
    bool fits =
        tensor->spec.rank() == root.spec.rank() && is_complex(tensor->spec.dtype) == is_complex(root.spec.dtype);
    for (int dim = 0; fits && dim < root.spec.rank(); ++dim)
      fits = known_equal(tensor->spec.sizes[dim], root.spec.sizes[dim]);
    if (!fits) raise_here();
    ValueRef value = builder_.graph_value(tensor);
    if (tensor->spec.dtype == root.spec.dtype) return value;
    return {builder_.add_op(*cast, {value, root.spec.dtype}), 0};
  }

  AppendedGradients run_to_values(const std::vector<ValuePtr>& ends) {
    std::vector<ValueRef> values;
    for (const ValuePtr& end : ends) {
      auto* tensor = own_tensor(end);
      if (!tensor->spec.requires_grad) raise_here();
      values.push_back(builder_.graph_value(tensor));
      if (tensor->source == nullptr) continue;
      require_plain_leaf(tracer_, *tensor);
      relate_to_inputs(*tensor);
    }
    require_leaves();
    return run(values);
  }

  AppendedGradients run(std::optional<std::span<const ValueRef>> ends) {
    first_new_ = tracer_.graph().nodes().size();
    std::vector<ValueRef> stops;
    for (const auto& [value, source] : runs_.leaf_values()) stops.push_back(value);
    for (const GradientRuns::NewLeaf& leaf : runs_.new_leaves()) stops.push_back(leaf.value);
    auto append = [this](const OpRow& row, std::vector<Operand> operands) {
      return builder_.add_op(row, std::move(operands));
    };
    try {
      GradientHistory history = options_.creates ? GradientHistory::Recorded : GradientHistory::None;
      AppendedGradients found = append_gradients(tracer_.graph(), starts_, ends, stops, history, append);
      check(found);
      if (!options_.retains) runs_.note_run(found);
      return found;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Internal) throw;
      refuse(error.what());
    }
  }

  // Where eager code raises, or goes another way than the graph.
  void check(const AppendedGradients& found) const {
    auto is_overwritten = [this](ValueRef value) { return runs_.is_overwritten(value); };
    auto was_applied = [this](const Node* node) { return runs_.was_applied(node); };
    auto is_unrecorded = [this](ValueRef value) { return runs_.is_unrecorded(value); };
    if (std::ranges::any_of(found.reached, is_unrecorded)) refuse("a tensor that was written without a history");
    if (std::ranges::any_of(found.saved, is_overwritten)) refuse("a tensor that was written since");
    if (std::ranges::any_of(found.applied, was_applied)) refuse("a second time through the same operations");
  }

  // All that the roots were computed from: the history of another input goes on outside, and may come to an end there.
  void require_leaves() {
    std::unordered_set<const Node*> seen;
    std::vector<ValueRef> pending;
    for (const GradientStart& start : starts_) pending.push_back(start.value);
    while (!pending.empty()) {
      ValueRef value = pending.back();
      pending.pop_back();
      const ValueInfo& info = tracer_.graph().info(value);
      if (info.is_scalar || !info.spec.requires_grad || !seen.insert(value.node).second) continue;
      if (value.node->kind != NodeKind::Op) {
        const ValuePtr leaf = leaf_of(value);
        require_plain_leaf(tracer_, *as<TensorValue>(leaf));
        runs_.note_leaf(leaf);
      }
      for (const Operand& operand : value.node->operands)
        for_each_value(operand, [&](const ValueRef& each) { pending.push_back(each); });
    }
  }

  // The same tensor, elsewhere in the graph, would have the gradient of both.
  void relate_to_inputs(const TensorValue& end) {
    for (const GraphBuilder::Input& input : builder_.inputs()) {
      ValuePtr value = input.source != nullptr ? tracer_.values().find(input.source) : nullptr;
      auto* other = as<TensorValue>(value);
      if (other == nullptr || other == &end || !other->spec.requires_grad) continue;
      require_distinct(tracer_, end, *other);
    }
  }

  ValuePtr leaf_of(ValueRef value) const {
    if (const GradientRuns::NewLeaf* leaf = runs_.new_leaf(value)) return leaf->tensor;
    const std::vector<Node*>& inputs = tracer_.graph().inputs();
    auto input = std::ranges::find(inputs, value.node);
    const Source* source = nullptr;
    if (input != inputs.end()) source = builder_.inputs()[static_cast<size_t>(input - inputs.begin())].source;
    for (const auto& [written, leaf] : runs_.leaf_values())
      if (written == value) source = leaf;
    ValuePtr tensor = source != nullptr ? tracer_.values().find(source) : nullptr;
    if (as<TensorValue>(tensor) == nullptr) refuse("a leaf that is no argument");
    return tensor;
  }

  ValuePtr new_tensor(ValueRef value) const {
    return make_value<TensorValue>(value, tracer_.graph().info(value).spec, family_);
  }

  // Adds in place, as eager code does without create_graph. With it, the sum is a new tensor.
  void accumulate(const Leaf& leaf) {
    static const OpRow* const add = find_op("add");
    auto* tensor = own_tensor(leaf.tensor);
    if (tensor->gradient && tensor->source != nullptr) require_plain_leaf(tracer_, *tensor);
    ValuePtr before = gradient_attribute(tracer_, leaf.tensor);
    if (auto* sum = as<TensorValue>(before)) {
      bool fits = sum->family == tensor->family && sum->spec.dtype == tensor->spec.dtype;
      if (fits && options_.creates) {
        ValuePtr both = call_op(tracer_, *add, {{before, new_tensor(leaf.gradient)}, {}}, CallForm::Method);
        return put_gradient(tracer_, leaf.tensor, std::move(both));
      }
      if (!fits || sum->spec.requires_grad || has_expanded_dim(sum->spec))
        refuse("a gradient that is not added to in place");
      call_in_place(tracer_, *add, {{before, new_tensor(leaf.gradient)}, {}});
    } else if (same_object(tracer_, before, tracer_.values().none())) {
      put_gradient(tracer_, leaf.tensor, new_tensor(laid_out(leaf.gradient, *tensor)));
    } else {
      refuse("a gradient of another type");
    }
  }

  // Whether it lies in new memory, in which no other result does.
  bool is_alone(ValueRef value) {
    for (ValueRef base = viewed_by(value); base.node != nullptr; base = viewed_by(value)) value = base;
    const Node& node = *value.node;
    bool is_new = node.kind == NodeKind::Op && static_cast<size_t>(node.index) >= first_new_;
    if (!is_new || std::ranges::find(taken_, value) != taken_.end()) return false;
    taken_.push_back(value);
    return true;
  }

  bool is_sole(ValueRef value) { return !is_strided_view(*value.node) && is_alone(value); }

  // As eager code has it, which may be all of what it is a view of: no one sees the rest.
  ValueRef apart(ValueRef value) {
    static const OpRow* const clone = find_op("clone");
    if (!is_alone(value)) refuse("a gradient that shares memory");
    if (!is_strided_view(*value.node)) return value;
    ValueRef copy = {builder_.add_op(*clone, {value, std::string("preserve_format")}), 0};
    const auto strides_of = [&](ValueRef each) -> const DimVec& { return tracer_.graph().info(each).spec.strides; };
    if (!same(strides_of(copy), strides_of(value))) refuse("a gradient that shares memory");
    return copy;
  }

  // As the gradient of a leaf lies: as the leaf does if that has no gaps.
  ValueRef laid_out(ValueRef value, const TensorValue& leaf) {
    static const OpRow* const clone = find_op("clone");
    static const OpRow* const copy = find_op("copy");
    const TensorSpec& spec = leaf.spec;
    bool is_symbolic = any_symbolic(spec.sizes.span()) || any_symbolic(spec.strides.span());
    if (is_symbolic && !spec.is_contiguous()) refuse("a leaf whose elements do not lie one after another");
    bool is_dense = spec.is_contiguous() || reach_of(spec).count() == spec.numel().value();
    TensorSpec wanted = is_dense ? spec : TensorSpec::contiguous(spec.dtype, spec.sizes);
    auto lies_so = [&](ValueRef each) { return same(tracer_.graph().info(each).spec.strides, wanted.strides); };
    if (lies_so(value) && is_sole(value)) return value;
    ValueRef laid = {builder_.add_op(*clone, {value, std::string("contiguous_format")}), 0};
    if (lies_so(laid)) return laid;
    ValueRef place = {builder_.add_op(*clone, {leaf.ref, std::string("preserve_format")}), 0};
    laid = {builder_.add_op(*copy, {place, value, Scalar(false)}), 0};
    place.node->outs[0].spec.requires_grad = false;
    laid.node->outs[0].spec.requires_grad = options_.creates && tracer_.graph().info(value).spec.requires_grad;
    if (!lies_so(laid)) refuse("a leaf whose elements do not lie one after another");
    return laid;
  }

  Tracer& tracer_;
  const TensorFamily& family_;
  BackwardOptions options_;
  GraphBuilder& builder_;
  GradientRuns& runs_;
  std::vector<GradientStart> starts_;
  std::vector<ValueRef> taken_;
  size_t first_new_ = 0;
};

const TensorFamily& family_of_root(const ValuePtr& root) {
  auto* tensor = as<TensorValue>(root);
  if (tensor == nullptr) refuse("a node in the place of a tensor");
  return *tensor->family;
}

bool flag_of(Tracer& tracer, const ValuePtr& value) {
  Ref flag = constant_of(tracer, value);
  if (!flag) refuse("an option that is not known");
  return flag.get() != Py_None && flag.get() != Py_False;
}

using Ends = std::unique_ptr<std::vector<ValuePtr>>;

// Null for None.
Ends ends_of(Tracer& tracer, const ValuePtr& value) {
  if (same_object(tracer, value, tracer.values().none())) return nullptr;
  Ends ends = elements_of(tracer, value);
  if (!ends) refuse("inputs that are no tuple or list");
  return ends;
}

// Where a call breaks, or raises, what was computed so far are results of one region, of which one is gone back to from
// another: until restore() they are to have histories of their own.
class HistoriesKept {
 public:
  HistoriesKept(Tracer& tracer, const Ends& ends) : graph_(tracer.graph()), before_(graph_.keeps_histories()) {
    graph_.keep_histories(before_ || (ends && std::ranges::any_of(*ends, is_computed)));
  }
  void restore() { graph_.keep_histories(before_); }

 private:
  Graph& graph_;
  bool before_;
};

// Of the arguments (roots, starts, ends, keeps_graph, creates_graph).
BackwardCapture capture_of(Tracer& tracer, const CallArgs& args) {
  BackwardOptions options{.retains = flag_of(tracer, args.positional[3]),
                          .creates = flag_of(tracer, args.positional[4])};
  auto roots = elements_of(tracer, args.positional[0]), starts = elements_of(tracer, args.positional[1]);
  if (!roots || !starts || roots->size() != starts->size()) raise_here();
  BackwardCapture capture(tracer, roots->empty() ? default_family() : family_of_root(roots->front()), options);
  for (size_t i = 0; i < roots->size(); ++i) capture.add_root((*roots)[i], (*starts)[i]);
  return capture;
}

}  // namespace

ValuePtr call_backward(Tracer& tracer, const CallArgs& args) {
  static constexpr const char* kNames[] = {"gradient", "retain_graph", "create_graph", "inputs"};
  if (args.positional.empty() || args.positional.size() > 5 || !is_tensor(args.positional[0])) raise_here();
  ValuePtr gradient = tracer.values().none(), inputs = gradient;
  BackwardOptions options;
  auto take = [&](size_t at, const ValuePtr& value) {
    if (at == 0) {
      gradient = value;
    } else if (at == 1) {
      options.retains = flag_of(tracer, value);
    } else if (at == 2) {
      if (flag_of(tracer, value)) refuse(kNames[at]);
    } else {
      inputs = value;
    }
  };
  for (size_t i = 1; i < args.positional.size(); ++i) take(i - 1, args.positional[i]);
  for (const auto& [name, value] : args.keywords) {
    auto found = std::ranges::find(kNames, text_of(name));
    if (found == std::end(kNames)) raise_here();
    take(static_cast<size_t>(found - std::begin(kNames)), value);
  }
  Ends ends = is_tensor(inputs) ? std::make_unique<std::vector<ValuePtr>>(1, inputs) : ends_of(tracer, inputs);
  if (ends && ends->empty()) raise_here();
  HistoriesKept histories(tracer, ends);
  BackwardCapture capture(tracer, family_of_root(args.positional[0]), options);
  capture.add_root(args.positional[0], gradient);
  ends ? capture.run_into(*ends) : capture.run_to_leaves();
  histories.restore();
  return tracer.values().none();
}

ValuePtr call_run_backward(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 6 || !args.keywords.empty()) raise_here();
  Ends ends = ends_of(tracer, args.positional[2]);
  HistoriesKept histories(tracer, ends);
  if (flag_of(tracer, args.positional[5])) refuse("anomaly mode");
  BackwardCapture capture = capture_of(tracer, args);
  ValuePtr gradients = make_value<SequenceValue>(false, std::vector<ValuePtr>{});
  if (ends) {
    gradients = capture.run_to(*ends);
  } else {
    capture.run_to_leaves();
  }
  histories.restore();
  return gradients;
}

ValuePtr call_run_backward_into(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 5 || !args.keywords.empty()) raise_here();
  Ends ends = ends_of(tracer, args.positional[2]);
  if (!ends) raise_here();
  HistoriesKept histories(tracer, ends);
  capture_of(tracer, args).run_into(*ends);
  histories.restore();
  return tracer.values().none();
}

ValuePtr call_leave_backward(Tracer& tracer, const CallArgs& args) {
  if (args.positional.empty() || args.positional.size() > 2 || !args.keywords.empty()) raise_here();
  HistoriesKept histories(tracer, ends_of(tracer, args.positional[0]));
  if (args.positional.size() == 1) raise_here();
  refuse(text_of(constant_of(tracer, args.positional[1])));
}

}  // namespace md
