#include <algorithm>
#include <utility>

#include "autograd/record.h"
#include "base/interrupts.h"
#include "graph/graph.h"
#include "graph/symbols.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

// Results of a node: tensors, or the scalar of a scalar input.
struct NodeResult {
  std::vector<Tensor> tensors;
  Scalar scalar;
};

void check_input_count(const Graph& graph, size_t given) {
  if (given != graph.inputs().size()) {
    raise(ErrorKind::Internal, "graph: takes ", graph.inputs().size(), " inputs, got ", given);
  }
}

// By node index: the position of the last use of its results.
std::vector<int> last_uses(const Graph& graph) {
  std::vector<int> last(graph.nodes().size(), -1);
  for (const auto& node : graph.nodes()) {
    for (const Operand& operand : node->operands) {
      for_each_value(operand,
                     [&](const ValueRef& value) { last[static_cast<size_t>(value.node->index)] = node->index; });
    }
  }
  for (const ValueRef& output : graph.outputs()) {
    last[static_cast<size_t>(output.node->index)] = static_cast<int>(graph.nodes().size());
  }
  return last;
}

// Grad modes were resolved at capture: results require grad as recorded, unless the op returned an operand itself.
void set_grad(const Node& node, std::span<const Arg> args, std::vector<Tensor>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    bool passed_through = false;
    for (const Arg& arg : args) {
      const Tensor* tensor = std::get_if<Tensor>(&arg);
      passed_through = passed_through || (tensor != nullptr && is_same(*tensor, results[i]));
    }
    if (!passed_through) results[i].set_requires_grad(node.outs[i].spec.requires_grad);
  }
}

}  // namespace

namespace {

// By its graph, or by the operands of each op.
enum class History : uint8_t { None, ByGraph, ByOperands };

// A host call's function keeps the history itself.
std::vector<Tensor> run_keeping_history(const Node& node, std::span<const Arg> args, History history) {
  bool by_graph = std::ranges::any_of(node.outs, [](const ValueInfo& info) { return info.spec.requires_grad; });
  bool keeps = history == History::ByOperands || by_graph;
  GradModeScope mode(keeps);
  std::vector<Tensor> results = run_op(*node.op, args);
  // What the graph has no history of is no view that was made under no_grad, either.
  if (keeps) note_history(*node.op, args, results);
  return results;
}

std::vector<Tensor> run_ops(const Graph& graph, std::span<const GraphInput> inputs, History history) {
  check_input_count(graph, inputs.size());
  std::vector<NodeResult> results(graph.nodes().size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    NodeResult& result = results[static_cast<size_t>(graph.inputs()[i]->index)];
    result.tensors.push_back(inputs[i].tensor);
    result.scalar = inputs[i].scalar;
  }
  ValueOf value_of = [&](ValueRef value) -> Arg {
    const NodeResult& result = results[static_cast<size_t>(value.node->index)];
    if (value.node->kind == NodeKind::ScalarInput) return result.scalar;
    return result.tensors[static_cast<size_t>(value.out)];
  };
  std::vector<int> last = last_uses(graph);
  std::vector<Arg> args;
  for (const auto& node : graph.nodes()) {
    std::vector<Tensor>& tensors = results[static_cast<size_t>(node->index)].tensors;
    if (node->kind == NodeKind::TensorConst) tensors.push_back(node->constant);
    if (node->kind != NodeKind::Op) continue;
    args.clear();
    for (const Operand& operand : node->operands) args.push_back(to_arg(operand, value_of));
    serve_interrupts();
    bool is_plain = history == History::None;
    tensors = is_plain ? run_op(*node->op, args) : run_keeping_history(*node, args, history);
    if (tensors.size() != node->outs.size()) {
      raise_op(ErrorKind::Runtime, node->op->name, "returned ", tensors.size(), " results, its shape rule says ",
               node->outs.size());
    }
    if (is_plain) set_grad(*node, args, tensors);
    for (const Operand& operand : node->operands) {
      for_each_value(operand, [&](const ValueRef& value) {
        if (last[static_cast<size_t>(value.node->index)] == node->index) {
          results[static_cast<size_t>(value.node->index)].tensors.clear();
        }
      });
    }
    if (last[static_cast<size_t>(node->index)] < 0) tensors.clear();
  }
  std::vector<Tensor> outputs;
  for (const ValueRef& output : graph.outputs()) {
    MD_ASSERT(output.node->kind != NodeKind::ScalarInput, "a scalar input is not an output");
    outputs.push_back(results[static_cast<size_t>(output.node->index)].tensors[static_cast<size_t>(output.out)]);
  }
  return outputs;
}

}  // namespace

std::vector<Tensor> run_eagerly(const Graph& graph, std::span<const GraphInput> inputs) {
  return run_ops(graph, inputs, History::None);
}

std::vector<Tensor> run_with_histories(const Graph& graph, std::span<const GraphInput> inputs, bool all) {
  History kept = all ? History::ByOperands : History::ByGraph;
  SymbolList symbols = symbols_of(graph);
  if (symbols.symbols().empty()) return run_ops(graph, inputs, kept);
  std::vector<int64_t> values = symbol_values(symbol_places(graph, symbols), inputs);
  return run_ops(*with_numbers(graph, symbols, values), inputs, kept);
}

}  // namespace md
