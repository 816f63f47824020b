// Unbacked sizes: numbers read from tensors, as in zeros(x.item()), and counts of elements, as in x[mask].
//   1. The number gets a symbol, which its node defines. The plan is split there: the part that needs the size is
//      lowered once it is known.
//   2. Shape rules decide by a hint. The conditions that they assumed are checked in each run; if one fails, the
//      interpreter runs the region.
//   3. Decisions of the program that depend on such a size end the region.
#include <algorithm>

#include "base/config.h"
#include "graph/symbols.h"
#include "guards/tensor_family.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/sizes/size_comparisons.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/tensors/tensor_numbers.h"
#include "symbolic/trace/tracer.h"

namespace md {
namespace {

// The hint for an unknown number: shape rules treat 0 and 1 specially.
constexpr int64_t kGuess = 2;

bool is_computable(const Node& node) {
  if (node.kind == NodeKind::ScalarInput) return false;
  return node.kind != NodeKind::Op || node.op->is_pure();
}

// The nodes that the value depends on, including its own; nullopt if some of them cannot be run now.
std::optional<std::vector<bool>> needed_for(const Graph& graph, const ValueRef& value) {
  std::vector<bool> needed(graph.nodes().size(), false);
  needed[static_cast<size_t>(value.node->index)] = true;
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    if (!needed[i]) continue;
    const Node& node = *graph.nodes()[i];
    if (!is_computable(node)) return std::nullopt;
    for (const Operand& operand : node.operands)
      for_each_value(operand, [&](const ValueRef& operand_value) {
        needed[static_cast<size_t>(operand_value.node->index)] = true;
      });
  }
  return needed;
}

// The current tensors of these inputs; nullopt if one is missing or has no memory.
std::optional<std::vector<GraphInput>> current_inputs(const Tracer& tracer, const std::vector<const Source*>& sources) {
  std::vector<GraphInput> inputs;
  for (const Source* source : sources) {
    Ref object = source != nullptr ? fetch(source, tracer.values().view()) : Ref();
    Tensor tensor = tensor_of_object(object);
    if (!tensor.defined() || tensor->kind() != TensorKind::Real) return std::nullopt;
    inputs.push_back({.tensor = std::move(tensor)});
  }
  return inputs;
}

// The number that this call will compute, so that the shape rules decide as they would for it.
int64_t hint_of(Tracer& tracer, const ValueRef& value) {
  std::optional<std::vector<bool>> needed = needed_for(tracer.graph(), value);
  if (!needed) return kGuess;
  std::unique_ptr<Graph> part = tracer.graph().clone();
  part->set_outputs({{part->nodes()[static_cast<size_t>(value.node->index)].get(), value.out}});
  std::vector<const Source*> sources;
  for (int kept : part->retain([&](const Node& node) { return (*needed)[static_cast<size_t>(node.index)]; }, true))
    sources.push_back(tracer.builder().inputs()[static_cast<size_t>(kept)].source);
  std::optional<std::vector<GraphInput>> inputs = current_inputs(tracer, sources);
  if (!inputs) return kGuess;
  try {
    SymbolList symbols = symbols_of(*part);
    std::vector<int64_t> hints;
    for (Dim symbol : symbols.symbols()) hints.push_back(symbol.hint());
    int64_t number = *run_eagerly(*with_numbers(*part, symbols, hints), *inputs)[0].data<int64_t>();
    bool is_usable = number != 0 && number != 1 && number < INT64_MAX / 4 && number > -(INT64_MAX / 4);
    return is_usable ? number : kGuess;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Internal) throw;
    return kGuess;
  }
}

// If an assumption fails, the region is run again, which must not repeat a host call.
void keep_apart_from_host_calls(Tracer& tracer) {
  if (tracer.graph().has_host_call())
    graph_break(BreakReason::tensor_to_number, "a size out of a tensor beside a custom operator");
}

bool is_call_of(const Node& node, const OpRow& op, const std::vector<Operand>& operands) {
  if (node.op != &op || !node.size.is_symbolic() || node.operands.size() < operands.size()) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto *own = std::get_if<ValueRef>(&node.operands[i]), *other = std::get_if<ValueRef>(&operands[i]);
    if (own == nullptr || other == nullptr || !(*own == *other)) return false;
  }
  return true;
}

}  // namespace

bool captures_data_sizes(Tracer& tracer) {
  return config().capture_dynamic_output_shape_ops || tracer.frames().innermost().policy->fullgraph;
}

Dim counted_size(Tracer& tracer, const OpRow& count, const std::vector<Operand>& operands) {
  for (const auto& node : tracer.graph().nodes())
    if (is_call_of(*node, count, operands)) return node->size;
  keep_apart_from_host_calls(tracer);
  Node* node = tracer.builder().add_op(count, operands);
  node->size = tracer.shapes().unbacked(hint_of(tracer, {node, 0}), true);
  return node->size;
}

Dim unbacked_size(Tracer& tracer, NumberValue* number) {
  if (number->size.is_symbolic()) return number->size;
  keep_apart_from_host_calls(tracer);
  Node* source = tracer.builder().add_op(*find_op("clone"), {number->ref});
  number->size = tracer.shapes().unbacked(hint_of(tracer, number->ref));
  source->size = number->size;
  return number->size;
}

ValueRef unbacked_number(GraphBuilder& builder, Dim dim) {
  return {builder.add_op(*find_op("full"), {DimVec(), Scalar::symbolic(dim), DType::int64}), 0};
}

ValuePtr number_of_unbacked(Tracer& tracer, const ValuePtr& value) {
  return tracer.shapes().is_unbacked(value)
             ? make_value<NumberValue>(&PyLong_Type, unbacked_number(tracer.builder(), *as<ComputedValue>(value)->dim))
             : nullptr;
}

ValuePtr computed_of_unbacked(Tracer& tracer, ScalarOp scalar_op, std::vector<ValuePtr>& operands) {
  if (std::ranges::none_of(operands, [&](const ValuePtr& operand) { return tracer.shapes().is_unbacked(operand); }))
    return nullptr;
  bool numbers_beside = std::ranges::any_of(operands, [](const ValuePtr& operand) { return as<NumberValue>(operand); });
  std::optional<Dim> dim = numbers_beside ? std::nullopt : computed_dim(tracer, scalar_op, operands);
  if (dim) return size_value(tracer, *dim);
  auto has_size = [](const ValuePtr& operand) {
    auto* number = as<NumberValue>(operand);
    return number == nullptr || number->size.is_symbolic();
  };
  if (operands.size() == 2 && std::ranges::all_of(operands, has_size)) {
    std::optional<Dim> a = dim_of(tracer, operands[0]), b = dim_of(tracer, operands[1]);
    std::optional<bool> always = a && b ? compared_for_all(scalar_op, *a, *b) : std::nullopt;
    if (always) return tracer.values().boolean(*always);
  }
  for (ValuePtr& operand : operands)
    if (ValuePtr number = number_of_unbacked(tracer, operand)) operand = number;
  return computed_in_graph(tracer, scalar_op, operands);
}

ValuePtr size_computed(Tracer& tracer, ScalarOp scalar_op, const std::vector<ValuePtr>& operands) {
  std::optional<Dim> dim = computed_dim(tracer, scalar_op, operands);
  return dim ? size_value(tracer, *dim) : nullptr;
}

void refuse_unbacked_sizes(Tracer& tracer, const TensorSpec& spec) {
  for (Dim size : spec.sizes)
    if (tracer.shapes().is_unbacked(size))
      graph_break(BreakReason::data_dependent_shape, str_cat("needs the sizes of ", spec.str()));
}

void assert_at_run_time(Tracer& tracer, NumberValue* condition) {
  NumberValue number(&PyLong_Type, {tracer.builder().add_op(*find_op("cast"), {condition->ref, DType::int64}), 0});
  tracer.shapes().relation(unbacked_size(tracer, &number), DimRelation::Equal, 1);
}

void refuse_unbacked(Tracer& tracer, const ValuePtr& value) {
  if (tracer.shapes().is_unbacked(value))
    graph_break(BreakReason::data_dependent_branch, "a size that is a number out of a tensor");
}

}  // namespace md
