#include "autograd/grad_history.h"

#include <algorithm>

#include "autograd/accumulate_node.h"
#include "autograd/node_names.h"
#include "autograd/op_node.h"
#include "autograd/rule_op.h"
#include "autograd/saved_tensor.h"
#include "base/error.h"
#include "tensor/tensor_modes.h"

namespace md {

GradHistory::~GradHistory() {
  stop_retaining();
  leave_base();
}

void GradHistory::leave_base() {
  if (!base.defined()) return;
  if (GradHistory* of_base = history_of(base)) of_base->views.erase(this);
}

void GradHistory::retain(int output) {
  if (!edge.node || retains_gradient) return;
  retains_gradient = true;
  edge.node->retaining.emplace_back(output, this);
}

void GradHistory::stop_retaining() {
  if (!retains_gradient || !edge.node) return;
  std::erase_if(edge.node->retaining, [&](const auto& entry) { return entry.second == this; });
  retains_gradient = false;
}

void GradHistory::keep(const Tensor& added) {
  gradient = gradient.defined() ? Tensor(rule_ops::add(gradient, added)) : added;
}

GradHistory* history_of(const Tensor& tensor) { return static_cast<GradHistory*>(tensor->companion()); }

GradHistory& own_history(const Tensor& tensor) {
  if (tensor->companion() == nullptr) tensor.set_companion(std::make_unique<GradHistory>());
  return *history_of(tensor);
}

namespace {

// A view's place in its base's memory.
struct Place {
  DimVec sizes, strides;
  int64_t offset;
};

Place place_in(const Tensor& view, const Tensor& base) {
  return {view.spec().sizes, view.spec().strides, view->offset() - base->offset()};
}

// The window of a base that a view is, as an op on the base's present history.
GradEdge edge_of_window(const Tensor& view, const Tensor& base) {
  static const OpRow* const row = find_op("window");
  Place place = place_in(view, base);
  std::vector<Arg> args = {alias_with_edge(base, edge_of(base)), place.sizes, place.strides, Scalar(place.offset)};
  std::vector<Tensor> results = {view};
  return {make_op_node(*row, args, results), 0};
}

// written: what was written instead of the view.
[[noreturn]] void raise_of_function(const GradEdge& edge, const char* what_happened) {
  raise(ErrorKind::Runtime, "Output ", edge.index, " of ", edge.node ? edge.node->op_name() : "a function",
        " is a view and ", what_happened,
        ". This view was created inside a custom Function (or because an input was returned as-is) and the "
        "autograd logic to handle view+inplace would override the custom backward associated with the custom Function, "
        "leading "
        "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function.");
}

// Rows of several views have one name each.
std::string op_name_of(const OpRow& row) {
  const NodeNames* names = node_names_of(row);
  std::string name = names != nullptr ? names->names.at(0) : default_node_name(row);
  return name.substr(0, name.find("Backward"));
}

// Raises for a view that was made in a way in which it can have no other history than its own.
void check_origin(const GradHistory& history, const char* what_happened) {
  if (history.origin == ViewOrigin::NoGrad)
    raise(
        ErrorKind::Runtime, "A view was created in no_grad mode and ", what_happened,
        " with grad mode enabled. Given that this use case is ambiguous and error-prone, it is forbidden. You can "
        "clarify "
        "your code by moving both the view and the inplace either both inside the no_grad block (if you don't want the "
        "inplace to be tracked) or both outside (if you want the inplace to be tracked).");
  if (history.origin == ViewOrigin::OfFunction) raise_of_function(history.edge, what_happened);
  if (history.origin != ViewOrigin::OneOfSeveral) return;
  std::string made_by = history.made_by != nullptr     ? op_name_of(*history.made_by)
                        : history.edge.node != nullptr ? history.edge.node->op_name()
                                                       : "a function";
  raise(ErrorKind::Runtime, "Output ", history.made_by != nullptr ? history.made_output : history.edge.index, " of ",
        made_by, " is a view and ", what_happened,
        ". This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views "
        "to be modified inplace. You should replace the inplace operation by an out-of-place one.");
}

}  // namespace

GradEdge edge_of(const Tensor& tensor) {
  if (!tensor.requires_grad()) return {};
  GradHistory& history = own_history(tensor);
  if (history.is_stale) {
    check_origin(history, "its base or another view of its base has been modified inplace");
    history.is_stale = false;
    history.edge = edge_of_window(tensor, history.base);
  }
  if (history.edge.node) return history.edge;
  GradNodePtr node = history.accumulator.lock();
  if (!node) {
    node = make_grad_node<AccumulateNode>(tensor);
    history.accumulator = node;
  }
  return {node, 0};
}

GradNodePtr node_of(const Tensor& tensor) {
  if (!tensor.requires_grad() || is_leaf(tensor)) return nullptr;
  return edge_of(tensor).node;
}

bool is_leaf(const Tensor& tensor) {
  if (!tensor.requires_grad()) return true;
  GradHistory* history = history_of(tensor);
  return history == nullptr || (!history->edge.node && !history->is_stale);
}

void set_edge(const Tensor& tensor, GradEdge edge) {
  GradHistory& history = own_history(tensor);
  bool retains = history.retains_gradient;
  history.stop_retaining();
  history.edge = std::move(edge);
  history.is_stale = false;
  if (retains) history.retain(history.edge.index);
  tensor.set_requires_grad(true);
}

void forget_history(const Tensor& tensor) {
  tensor.set_companion(nullptr);
  tensor.set_requires_grad(false);
}

Tensor alias_with_edge(const Tensor& tensor, GradEdge edge) {
  TensorSpec spec = tensor.spec();
  spec.requires_grad = edge.node != nullptr;
  Tensor alias = Tensor::view(tensor, spec, tensor->offset());
  if (edge.node) set_edge(alias, std::move(edge));
  return alias;
}

void note_view(const Tensor& view, const Tensor& of, ViewOrigin origin) {
  if (is_same(view, of)) return;
  GradHistory* of_history = history_of(of);
  bool is_of_view = of_history != nullptr && of_history->base.defined();
  Tensor base = is_of_view ? of_history->base : of;
  GradHistory& history = own_history(view);
  history.leave_base();
  history.base = base;
  history.origin = origin;
  if (origin == ViewOrigin::Plain && of_history != nullptr && of_history->origin != ViewOrigin::None)
    history.origin = of_history->origin;
  own_history(base).views.insert_or_assign(&history, view.impl());
}

void check_write_of_history(const Tensor& target) {
  GradHistory* history = history_of(target);
  if (target.requires_grad() && is_leaf(target))
    raise(ErrorKind::Runtime, "a leaf Variable that requires grad is being used in an in-place operation.");
  if (history == nullptr) return;
  check_origin(*history, "is being modified inplace");
  if (!history->base.defined()) return;
  if (history->base.requires_grad() && is_leaf(history->base))
    raise(ErrorKind::Runtime, "a view of a leaf Variable that requires grad is being used in an in-place operation.");
}

void rebase(const Tensor& target, GradEdge written) {
  GradHistory& history = own_history(target);
  if (!history.base.defined()) {
    set_edge(target, std::move(written));
  } else {
    // The base with the new value in the view's place.
    static const OpRow* const row = find_op("scatter_view");
    Tensor base = history.base;
    if (base->dtype() != target->dtype())
      raise(ErrorKind::NotImplemented, "a write under a history into a view of another dtype than its base");
    Place place = place_in(target, base);
    GradEdge of_base = base.requires_grad() ? edge_of(base) : GradEdge{};
    std::vector<Arg> args = {alias_with_edge(base, of_base), alias_with_edge(target, std::move(written)), place.sizes,
                             place.strides, Scalar(place.offset)};
    std::vector<Tensor> results = {base};
    set_edge(base, {make_op_node(*row, args, results), 0});
  }
  const Tensor& written_base = history.base.defined() ? history.base : target;
  for (const auto& [of_view, view] : own_history(written_base).views) {
    of_view->stop_retaining();
    // Messages name the op that made one of several views.
    if (of_view->origin != ViewOrigin::OneOfSeveral && of_view->origin != ViewOrigin::OfFunction) of_view->edge = {};
    of_view->is_stale = true;
    Tensor::share(view).set_requires_grad(true);
  }
}

Tensor gradient_of(const Tensor& tensor) {
  GradHistory* history = history_of(tensor);
  return history == nullptr ? Tensor() : history->gradient;
}

void set_gradient(const Tensor& tensor, Tensor gradient) {
  if (!gradient.defined() && history_of(tensor) == nullptr) return;
  own_history(tensor).gradient = std::move(gradient);
}

void add_hook(const Tensor& tensor, std::shared_ptr<GradientHook> hook) {
  if (is_leaf(tensor)) {
    own_history(tensor).hooks.push_back(std::move(hook));
    return;
  }
  GradEdge edge = edge_of(tensor);
  edge.node->tensor_hooks.emplace_back(edge.index, std::move(hook));
  auto& nodes = own_history(tensor).hooked_nodes;
  if (nodes.empty() || nodes.back().lock() != edge.node) nodes.push_back(edge.node);
}

void remove_hook(const Tensor& tensor, const GradientHook* hook) {
  GradHistory* history = history_of(tensor);
  if (history == nullptr) return;
  std::erase_if(history->hooks, [&](const auto& entry) { return entry.get() == hook; });
  for (const auto& hooked : history->hooked_nodes)
    if (GradNodePtr node = hooked.lock())
      std::erase_if(node->tensor_hooks, [&](const auto& entry) { return entry.second.get() == hook; });
}

}  // namespace md
