#include "symbolic/tensors/known_tensors.h"

#include <algorithm>
#include <map>

#include "graph/fixed_operands.h"
#include "graph/graph.h"
#include "tensor/parallel/float_flags.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

// Beyond this a break costs less than computing ahead.
constexpr size_t kMostNodes = 64;

// Its result is the same at each run.
bool is_known(const Node& node) {
  if (!std::ranges::all_of(node.outs, is_fixed_and_small)) return false;
  if (node.kind == NodeKind::TensorConst) return true;
  bool is_pure = node.kind == NodeKind::Op && node.op->is_pure() && !node.size.is_symbolic();
  return is_pure && std::ranges::all_of(node.operands, is_fixed_operand);
}

using ByIndex = std::map<int, const Node*>;

// All that leads to the node, in the order of the graph. Returns false if some of it is not known.
bool collect(const Node& node, ByIndex& found) {
  if (found.contains(node.index)) return true;
  if (found.size() == kMostNodes || !is_known(node)) return false;
  found.emplace(node.index, &node);
  bool all = true;
  for (const Operand& operand : node.operands)
    for_each_value(operand, [&](const ValueRef& value) { all = all && collect(*value.node, found); });
  return all;
}

std::optional<Tensor> evaluated(const ValueRef& value, const ByIndex& nodes) {
  GradModeScope no_history(false);
  std::map<const Node*, std::vector<Tensor>> results;
  auto value_of = [&](ValueRef ref) -> Arg { return results.at(ref.node)[static_cast<size_t>(ref.out)]; };
  try {
    for (const auto& [_, node] : nodes) {
      std::vector<Tensor>& outs = results[node];
      if (node->kind == NodeKind::TensorConst) {
        outs.push_back(node->constant);
        continue;
      }
      std::vector<Arg> args;
      for (const Operand& operand : node->operands) args.push_back(to_arg(operand, value_of));
      outs = run_op(*node->op, args);
    }
  } catch (const Error&) {
    return {};  // it fails again at its place when the graph runs
  }
  Tensor found = results.at(value.node)[static_cast<size_t>(value.out)];
  return found->kind() == TensorKind::Real ? std::optional(found) : std::nullopt;
}

// What a library's programs see of floating-point exceptions they must see at each run.
bool met_watched(const TensorFamily& family, const FloatFlags& flags) {
  constexpr uint32_t kNeverWatched = 0x22;  // denormal operand, inexact
  return family.watched_flags != nullptr && (flags.raised() & ~kNeverWatched) != 0;
}

// As tolist() of the library's own tensors converts it; null if it is not known.
Ref listed(Tracer& tracer, TensorValue* tensor) {
  bool is_outside = tensor->source != nullptr || (tensor->base != nullptr && tensor->base->source != nullptr);
  if (is_outside || FloatFlags::here() != nullptr) return nullptr;
  ValueRef value = tracer.builder().graph_value(tensor);
  ByIndex nodes;
  if (!collect(*value.node, nodes)) return nullptr;
  FloatFlagsAside aside;
  FloatFlags flags;
  std::optional<Tensor> found = evaluated(value, nodes);
  if (!found || met_watched(*tensor->family, flags)) return nullptr;
  static PyObject* const kToList = PyUnicode_InternFromString("tolist");
  Ref object = default_family().wrap(*found);
  return check(PyObject_CallMethodNoArgs(object, kToList));
}

ValuePtr value_of_listed(Tracer& tracer, BorrowedRef listed) {
  if (!PyList_CheckExact(listed.get())) return tracer.values().constant(Ref::share(listed.get()));
  std::vector<ValuePtr> items;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(listed.get()); ++i)
    items.push_back(value_of_listed(tracer, PyList_GET_ITEM(listed.get(), i)));
  return make_value<SequenceValue>(true, std::move(items));
}

}  // namespace

Ref known_number(Tracer& tracer, TensorValue* tensor) {
  if (!known_equal(tensor->spec.numel(), 1)) return nullptr;
  Ref found = listed(tracer, tensor);
  while (found && PyList_CheckExact(found.get())) found = Ref::share(PyList_GET_ITEM(found.get(), 0));
  return found;
}

ValuePtr known_elements(Tracer& tracer, TensorValue* tensor) {
  Ref found = listed(tracer, tensor);
  return found ? value_of_listed(tracer, found) : nullptr;
}

}  // namespace md
