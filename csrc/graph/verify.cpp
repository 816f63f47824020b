#include "graph/graph.h"

namespace md {
namespace {

// Reports a violated invariant with its node.
class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = *graph_.nodes()[i];
      if (node.index != static_cast<int>(i)) fail(node, "its index is not its position");
      if (node.name.empty() || !names_.insert(node.name).second) fail(node, "its name is not unique");
      check_kind(node);
    }
    check_inputs();
    for (const ValueRef& output : graph_.outputs()) {
      if (!is_value_before(output, static_cast<int>(graph_.nodes().size()))) {
        raise(ErrorKind::Internal, "graph: an output is not a value of the graph");
      }
      if (graph_.info(output).is_scalar) fail(*output.node, "a scalar is not an output");
    }
  }

 private:
  [[noreturn]] static void fail(const Node& node, const std::string& rule) {
    raise(ErrorKind::Internal, "graph: node %", node.name, " (", node.index, "): ", rule);
  }

  bool is_value_before(const ValueRef& value, int position) const {
    return value.node != nullptr && value.node->index >= 0 && value.node->index < position &&
           graph_.nodes()[static_cast<size_t>(value.node->index)].get() == value.node && value.out >= 0 &&
           value.out < static_cast<int>(value.node->outs.size());
  }

  void check_kind(const Node& node) const {
    if (node.kind == NodeKind::Op) return check_op(node);
    if (node.op != nullptr || !node.operands.empty()) fail(node, "an input or constant has no operands");
    if (node.outs.size() != 1) fail(node, "an input or constant has one result");
    if (node.outs[0].is_scalar != (node.kind == NodeKind::ScalarInput)) fail(node, "only a scalar input is a scalar");
    if (node.constant.defined() != (node.kind == NodeKind::TensorConst)) fail(node, "only a constant holds a tensor");
    if (node.kind == NodeKind::TensorConst && !same_spec(node.constant.spec(), node.outs[0].spec)) {
      fail(node, "its spec is not the constant's");
    }
  }

  void check_op(const Node& node) const {
    if (node.op == nullptr) fail(node, "an op node has an op row");
    for (const Operand& operand : node.operands) {
      for_each_value(operand, [&](const ValueRef& value) {
        if (!is_value_before(value, node.index)) fail(node, "an operand is not defined before it");
      });
    }
    try {
      check_operands(*node.op, node.operands);
      check_infos(node, infer_outs(*node.op, node.operands));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Internal) throw;
      fail(node, error.what());
    }
  }

  static void check_infos(const Node& node, const std::vector<ValueInfo>& expected) {
    if (expected.size() != node.outs.size()) fail(node, "its number of results is not the shape rule's");
    for (size_t i = 0; i < expected.size(); ++i) {
      if (node.outs[i].is_scalar) fail(node, "the result of an op is a tensor");
      if (!same_spec(expected[i].spec, node.outs[i].spec)) {
        fail(node,
             str_cat("result ", i, " is ", node.outs[i].spec.str(), ", the shape rule says ", expected[i].spec.str()));
      }
    }
  }

  void check_inputs() const {
    size_t found = 0;
    for (const auto& node : graph_.nodes()) {
      if (node->kind != NodeKind::TensorInput && node->kind != NodeKind::ScalarInput) continue;
      if (found >= graph_.inputs().size() || graph_.inputs()[found] != node.get())
        fail(*node, "it is not in the list of inputs");
      ++found;
    }
    if (found != graph_.inputs().size()) raise(ErrorKind::Internal, "graph: the list of inputs holds a foreign node");
  }

  // requires_grad depends on the mode at capture, so it is not compared.
  static bool same_spec(const TensorSpec& a, const TensorSpec& b) { return a.dtype == b.dtype && same_layout(a, b); }

  const Graph& graph_;
  std::unordered_set<std::string> names_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace md
