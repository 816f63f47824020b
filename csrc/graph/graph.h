// A captured computation: functional, dtypes final, casts explicit. No Python objects in it.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/op_row.h"

namespace md {

struct Node;

// One result of one node.
struct ValueRef {
  Node* node = nullptr;
  int out = 0;
  friend bool operator==(const ValueRef&, const ValueRef&) = default;
};

// What a node is applied to: None, a value, a list of values, or a constant. A run-time scalar is a ScalarInput node's value.
using Operand =
    std::variant<std::monostate, ValueRef, std::vector<ValueRef>, Scalar, DimVec, DType, std::string>;

// Where the user wrote it.
struct SourceLine {
  std::string file;
  int line = 0;
  std::string function;
};

enum class NodeKind : uint8_t {
  TensorInput,  // placeholder
  ScalarInput,  // placeholder: a Python int, float or bool known at run time only
  TensorConst,  // a tensor held by the graph (get_attr)
  Op,
};

// What is known of one result before running.
struct ValueInfo {
  TensorSpec spec;
  bool is_scalar = false;
  Scalar::Kind scalar_kind = Scalar::Kind::Int;
};

struct Node {
  NodeKind kind = NodeKind::Op;
  const OpRow* op = nullptr;      // Op only
  std::string name;               // unique in the graph: "add", "add_1", "l_x_"
  std::vector<Operand> operands;  // Op: schema order, complete
  std::vector<ValueInfo> outs;
  Tensor constant;                   // TensorConst
  std::vector<SourceLine> location;  // the user's stack, outermost first
  bool called_as_method = false;     // call_method in the FX face
  int index = -1;                    // position, kept by Graph
};

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Node* add_tensor_input(const std::string& name, const TensorSpec& spec);
  Node* add_scalar_input(const std::string& name, Scalar::Kind kind);
  Node* add_constant(const std::string& name, const Tensor& value);
  // Runs the shape rule on fakes of the operands; throws what the rule throws, and then nothing is appended.
  Node* add_op(const OpRow& op, std::vector<Operand> operands, std::vector<SourceLine> location = {});
  void set_outputs(std::vector<ValueRef> outputs);

  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::vector<Node*>& inputs() const { return inputs_; }  // tensor and scalar placeholders, in order
  const std::vector<ValueRef>& outputs() const { return outputs_; }
  int op_count() const;
  bool has_call_out() const;
  const ValueInfo& info(ValueRef value) const;
  std::vector<Node*> users(const Node* node) const;

  // Drops nodes for which keep is false and renumbers; inputs stay unless drop_inputs.
  // Returns, for each input that stays, its old position among the inputs.
  std::vector<int> retain(const std::function<bool(const Node&)>& keep, bool drop_inputs);
  void replace_uses(ValueRef from, ValueRef to);
  std::unique_ptr<Graph> clone() const;
  std::string unique_name(const std::string& stem);

 private:
  Node* append(std::unique_ptr<Node> node);
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Node*> inputs_;
  std::vector<ValueRef> outputs_;
  std::vector<std::pair<std::string, int>> name_counts_;
};

// Throws Error(Internal) naming the first node that breaks a rule: operands before use, operand types as the schema says,
// infos as the shape rule gives, names unique.
void verify(const Graph& graph);

// One line per node; parse_graph(print(g)) prints the same. The text form is documented at the top of print.cpp.
std::string print(const Graph& graph);
std::unique_ptr<Graph> parse_graph(const std::string& text);
// Python source of a forward(self, ...) method, for graph_code logs and gm.code.
std::string print_code(const Graph& graph, bool with_locations);

struct GraphInput {
  Tensor tensor;
  Scalar scalar{int64_t{0}};
};
// Applies every op eagerly, in order: the "eager" backend, and the oracle of plans.
std::vector<Tensor> run_eagerly(const Graph& graph, std::span<const GraphInput> inputs);

}  // namespace md
