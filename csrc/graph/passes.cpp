#include "graph/passes.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/config.h"

namespace md {
namespace {

constexpr Pass kPasses[] = {
    {"fold_constants", "Runs cheap ops of constants once.", fold_constants},
    {"simplify_chains", "Shortens casts of casts and transposes of transposes.", simplify_chains},
    {"merge_common_subexpressions", "Computes equal pure ops once.", merge_common_subexpressions},
    {"eliminate_dead_code", "Drops nodes that nothing uses and that cannot fail.", eliminate_dead_code},
};

// Ops whose kernel fails for some values of its operands, besides those that are not pure.
constexpr auto kFailByValue = std::to_array<std::string_view>({
    "index_select",
    "gather",
    "embedding",
    "index",
    "index_put",
    "index_fill",
    "index_copy",
    "index_add",
    "scatter",
    "scatter_add",
});
// These fail on a zero divisor or a negative exponent, for integers only.
constexpr auto kFailOnZero = std::to_array<std::string_view>({"floor_divide", "remainder", "div.rounding", "pow"});

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool verify_after_passes() {
#ifdef NDEBUG
  return config().verify_graphs;
#else
  return true;
#endif
}

}  // namespace

bool must_run(const Node& node) {
  if (node.kind != NodeKind::Op) return false;
  if (!node.op->is_pure() || node.size.is_symbolic() || contains(kFailByValue, node.op->name)) return true;
  return contains(kFailOnZero, node.op->name) && !node.outs.empty() && !is_floating(node.outs[0].spec.dtype);
}

std::span<const Pass> passes() { return kPasses; }

bool has_effects(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& node) { return must_run(*node); });
}

void run_passes(Graph& graph) {
  for (const Pass& pass : kPasses) {
    bool changed = pass.run(graph);
    if (!changed || !verify_after_passes()) continue;
    try {
      verify(graph);
    } catch (const Error& error) {
      raise(ErrorKind::Internal, "after pass ", pass.name, ": ", error.what());
    }
  }
}

std::vector<int> drop_unused_inputs(Graph& graph) {
  std::vector<bool> used(graph.nodes().size(), false);
  auto use = [&](const ValueRef& value) { used[static_cast<size_t>(value.node->index)] = true; };
  for (const auto& node : graph.nodes()) {
    for (const Operand& operand : node->operands) for_each_value(operand, use);
  }
  for (const ValueRef& output : graph.outputs()) use(output);
  return graph.retain(
      [&](const Node& node) { return node.kind == NodeKind::Op || used[static_cast<size_t>(node.index)]; }, true);
}

}  // namespace md
