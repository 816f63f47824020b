#include "executor/write_chains.h"

#include <algorithm>
#include <iterator>

#include "tensor/memory_overlap.h"
#include "tensor/ops/kernels.h"

namespace md {
namespace {

// They keep a total for some thousands of elements each.
constexpr Kernel kSteadyReductions[] = {sum_kernel,  prod_kernel, mean_kernel, amax_kernel,
                                        amin_kernel, any_kernel,  all_kernel};

// Beside those that replace all elements.
constexpr Kernel kReplacingWrites[] = {scatter_view_kernel, index_fill_kernel, index_copy_kernel, scatter_kernel,
                                       masked_fill_kernel};

bool is_own_value(const ValueRef& value) {
  return value.node->kind == NodeKind::Op && value.node->outs.size() == 1 && !is_strided_view(*value.node);
}

}  // namespace

bool replaces_all(const OpRow& op) {
  return op.kernel == copy_into_kernel || op.kernel == fill_kernel || op.kernel == zero_kernel;
}

bool combines(const Node& write) {
  if (write.op->kernel == index_put_kernel) {
    const auto* accumulates = std::get_if<Scalar>(&write.operands[4]);
    return accumulates == nullptr || accumulates->as_int() != 0;
  }
  return !replaces_all(*write.op) &&
         std::ranges::find(kReplacingWrites, write.op->kernel) == std::end(kReplacingWrites);
}

bool is_steady(const OpRow& op) {
  switch (op.kind) {
    case OpKind::PointwiseUnary:
    case OpKind::PointwiseBinary:
    case OpKind::PointwiseTernary:
    case OpKind::Compare:
      return op.pointwise >= 0;
    case OpKind::View:
    case OpKind::Creation:
    case OpKind::Cast:
      return true;
    case OpKind::Write:
      return replaces_all(op) || writes_view(op) || op.kernel == masked_fill_kernel;
    case OpKind::Reduction:
      return std::ranges::find(kSteadyReductions, op.kernel) != std::end(kSteadyReductions);
    case OpKind::Matmul:
    case OpKind::Decomposition:
    case OpKind::Softmax:
    case OpKind::Gather:
    case OpKind::Random:
    case OpKind::HostCall:
      break;
  }
  return false;
}

bool writes_any_layout(const OpRow& op) { return op.kind == OpKind::Write || op.pointwise >= 0; }

bool may_pack(const OpRow& op) { return op.kind == OpKind::Matmul || op.role() == OpRole::Convolution; }

const ValueRef* written_operand(const Node& node, const BufferAssignment& places) {
  if (!is_op(node, OpKind::Write) || node.outs.size() != 1) return nullptr;
  const auto* self = std::get_if<ValueRef>(&node.operands[0]);
  bool is_whole = self != nullptr && self->node->kind != NodeKind::ScalarInput && !places.is_alias(*self->node);
  return is_whole && same_layout(places.place(*self).spec, node.outs[0].spec) ? self : nullptr;
}

bool keeps_layout(const Node& node, const SizedGraph* sized) {
  return sized == nullptr || has_fixed_layout(sized->symbolic(node).outs[0].spec);
}

std::vector<InputWrite> usable_writes(const Graph& graph, std::span<const InputWrite> writes, const SizedGraph* sized) {
  std::vector<InputWrite> usable;
  for (const InputWrite& write : writes) {
    const ValueRef& output = graph.outputs()[static_cast<size_t>(write.output)];
    const Node& input = *graph.inputs()[static_cast<size_t>(write.input)];
    if (output.node == &input) continue;
    if (!is_own_value(output)) return {};
    const TensorSpec& spec = input.outs[0].spec;
    bool keeps = keeps_layout(input, sized) && keeps_layout(*output.node, sized);
    if (keeps && same_layout(spec, output.node->outs[0].spec) && elements_are_apart(spec)) usable.push_back(write);
  }
  return usable;
}

std::vector<bool> escaping_besides(const Graph& graph, std::span<const InputWrite> writes) {
  std::vector<ValueRef> left;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    bool is_written =
        std::ranges::any_of(writes, [&](const InputWrite& write) { return write.output == static_cast<int>(i); });
    if (!is_written) left.push_back(graph.outputs()[i]);
  }
  return graph.escaping(left);
}

namespace {

std::vector<const Node*> holders_of(const Node& input, const Graph& graph, const BufferAssignment& places) {
  std::vector<const Node*> holders{&input};
  std::vector<bool> holds(graph.nodes().size(), false);
  holds[static_cast<size_t>(input.index)] = true;
  for (const auto& node : graph.nodes()) {
    const ValueRef* self = written_operand(*node, places);
    if (self == nullptr || !holds[static_cast<size_t>(self->node->index)] || replaces_all(*node->op)) continue;
    holds[static_cast<size_t>(node->index)] = true;
    holders.push_back(node.get());
  }
  return holders;
}

}  // namespace

std::vector<WriteChain> write_chains(const Graph& graph, const BufferAssignment& places,
                                     std::span<const InputWrite> writes, const std::vector<bool>& escapes) {
  std::vector<WriteChain> chains;
  std::vector<bool> taken(graph.nodes().size(), false);
  for (const InputWrite& write : writes) {
    WriteChain chain = {.output = write.output, .input = write.input};
    chain.input_node = graph.inputs()[static_cast<size_t>(write.input)];
    chain.holders = holders_of(*chain.input_node, graph, places);
    const Node* node = graph.outputs()[static_cast<size_t>(write.output)].node;
    for (const ValueRef* self; (self = written_operand(*node, places)) != nullptr; node = self->node)
      chain.updates.push_back(node);
    std::ranges::reverse(chain.updates);
    std::vector<const Node*> own = chain.updates;
    if (node != chain.input_node) {
      chain.produced = node;
      own.push_back(node);
    }
    chain.may_be_in_place = std::ranges::all_of(own, [&](const Node* each) {
      size_t i = static_cast<size_t>(each->index);
      return each->kind == NodeKind::Op && each->outs.size() == 1 && !escapes[i] && !taken[i];
    });
    for (const Node* each : own) taken[static_cast<size_t>(each->index)] = true;
    chains.push_back(std::move(chain));
  }
  return chains;
}

}  // namespace md
