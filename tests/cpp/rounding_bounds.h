// Bounds on the difference between two float32 computations of a product and the ops that follow it: per element and
// from first principles, since a division by nearly cancelling terms can amplify the rounding of a product arbitrarily.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "tensor_values.h"

namespace md_test {

// The value of an operand, and a bound on its error.
struct Uncertain {
  double value, bound;
};

// One op per row: the bound of its result from the operands' bounds. For a function the steepest slope; its result is
// not more accurate than its operand.
struct BoundRow {
  const char* name;
  double (*bound)(Uncertain a, Uncertain b);
  bool is_function = false;
};

inline double bound_of_sum(Uncertain a, Uncertain b) { return a.bound + b.bound; }
inline double bound_of_quotient(Uncertain a, Uncertain b) {
  double least = std::fabs(b.value) - b.bound;
  if (least <= 0) return std::numeric_limits<double>::infinity();
  return (a.bound + std::fabs(a.value / b.value) * b.bound) / least;
}

inline constexpr BoundRow kUnaryBounds[] = {
    {"relu", [](Uncertain a, Uncertain) { return a.bound; }},
    {"tanh", [](Uncertain a, Uncertain) { return a.bound; }, true},
    {"sigmoid", [](Uncertain a, Uncertain) { return a.bound / 4; }, true},
    {"gelu", [](Uncertain a, Uncertain) { return 1.13 * a.bound; }, true},
    {"silu", [](Uncertain a, Uncertain) { return 1.1 * a.bound; }, true},
    {"abs", [](Uncertain a, Uncertain) { return a.bound; }},
    {"square", [](Uncertain a, Uncertain) { return (2 * std::fabs(a.value) + a.bound) * a.bound; }},
    {"neg", [](Uncertain a, Uncertain) { return a.bound; }},
};
inline constexpr BoundRow kBinaryBounds[] = {
    {"add", bound_of_sum},
    {"mul",
     [](Uncertain a, Uncertain b) { return std::fabs(a.value) * b.bound + (std::fabs(b.value) + b.bound) * a.bound; }},
    {"sub", bound_of_sum},
    {"div", bound_of_quotient},
    {"maximum", [](Uncertain a, Uncertain b) { return std::max(a.bound, b.bound); }},
};

inline const BoundRow* find_bound(std::string_view name) {
  for (const BoundRow& row : kUnaryBounds)
    if (name == row.name) return &row;
  for (const BoundRow& row : kBinaryBounds)
    if (name == row.name) return &row;
  return nullptr;
}

// For a graph of one product of float32 matrices, followed by ops of the rows.
class RoundingBounds {
 public:
  RoundingBounds(const Graph& graph, std::span<const GraphInput> inputs) {
    std::unique_ptr<Graph> all = graph.clone();
    std::vector<ValueRef> ops;
    for (const auto& node : all->nodes())
      if (node->kind == NodeKind::Op) ops.push_back({node.get()});
    all->set_outputs(ops);
    for (size_t i = 0; i < inputs.size(); ++i) keep(*all->inputs()[i], inputs[i]);
    std::vector<Tensor> results = run_eagerly(*all, inputs);
    for (size_t i = 0; i < ops.size(); ++i) known_[ops[i].node] = values(results[i]);
    for (size_t i = 0; i < ops.size(); ++i) {
      const BoundRow* row = find_bound(ops[i].node->op->name);
      by_name_[ops[i].node->name] = row == nullptr ? of_product(*all, *ops[i].node, inputs) : of_op(*ops[i].node, *row);
    }
  }

  // In row-major order.
  const std::vector<double>& of(const Node& node) const { return by_name_.at(node.name); }

 private:
  static constexpr double kUnit = 0x1p-24;  // of float32's rounding
  void keep(const Node& node, const GraphInput& input) {
    known_[&node] = input.tensor.defined() ? values(input.tensor) : std::vector<double>{input.scalar.as_double()};
  }

  // A sum of k products in any order, with or without fused multiplications: k + 1 roundings, each of at
  // most the sum of all magnitudes.
  std::vector<double> of_product(const Graph& all, const Node& product, std::span<const GraphInput> inputs) {
    std::unique_ptr<Graph> alone = all.clone();
    for (const auto& node : alone->nodes())
      if (node->name == product.name) alone->set_outputs({{node.get()}});
    std::vector<GraphInput> magnitudes(inputs.begin(), inputs.end());
    for (GraphInput& input : magnitudes)
      if (input.tensor.defined()) input.tensor = call1("abs", {input.tensor});
    std::vector<double> bounds = values(run_eagerly(*alone, magnitudes)[0]);
    // The first operand of addmm is the summand.
    const Node& left =
        *std::get<ValueRef>(product.operands[product.op->name == std::string_view("addmm") ? 1 : 0]).node;
    double roundings = static_cast<double>(left.outs[0].spec.sizes[left.outs[0].spec.rank() - 1].value() + 1);
    for (double& bound : bounds) bound *= 2 * roundings * kUnit;
    return bounds;
  }

  std::vector<double> of_op(const Node& node, const BoundRow& row) {
    const TensorSpec& spec = node.outs[0].spec;
    std::vector<double> bounds;
    bool is_binary = node.operands.size() > 1;
    for (size_t i = 0; i < known_.at(&node).size(); ++i) {
      int64_t at = static_cast<int64_t>(i);
      Uncertain a = element(node.operands[0], spec, at);
      Uncertain b = is_binary ? element(node.operands[1], spec, at) : Uncertain{0, 0};
      double magnitude = std::fabs(known_.at(&node)[i]) + (row.is_function ? std::fabs(a.value) : 0);
      bounds.push_back(row.bound(a, b) + 8 * kUnit * magnitude);
    }
    return bounds;
  }

  Uncertain element(const Operand& operand, const TensorSpec& spec, int64_t index) const {
    auto* ref = std::get_if<ValueRef>(&operand);
    if (ref == nullptr) {
      auto* number = std::get_if<Scalar>(&operand);
      return {number == nullptr ? 0 : number->as_double(), 0};
    }
    const ValueInfo& info = ref->node->outs[0];
    size_t at = info.is_scalar ? 0 : static_cast<size_t>(broadcast(info.spec, spec, index));
    auto bounds = by_name_.find(ref->node->name);
    return {known_.at(ref->node)[at], bounds == by_name_.end() ? 0 : bounds->second[at]};
  }

  // The index in `from` that corresponds to this index of `to`.
  static int64_t broadcast(const TensorSpec& from, const TensorSpec& to, int64_t index) {
    int64_t at = 0, step = 1;
    for (int d = to.rank() - 1, own = from.rank() - 1; own >= 0; --d, --own) {
      int64_t size = from.sizes[own].value(), whole = to.sizes[d].value();
      if (size != 1) at += index % whole * step;
      index /= whole;
      step *= size;
    }
    return at;
  }

  std::unordered_map<const Node*, std::vector<double>> known_;
  std::unordered_map<std::string, std::vector<double>> by_name_;
};

}  // namespace md_test
