// A captured computation: functional, dtypes final, casts explicit. No Python objects in it.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/ops/op_row.h"

namespace md {

struct Node;

// One result of one node.
struct ValueRef {
  Node* node = nullptr;
  int out = 0;
  friend bool operator==(const ValueRef&, const ValueRef&) = default;
};

// What a node is applied to: None, a value, a list of values, or a constant. A run-time scalar is a ScalarInput node's value.
using Operand = std::variant<std::monostate, ValueRef, std::vector<ValueRef>, Scalar, DimVec, DType, std::string>;

// Calls f(ValueRef&) for each value in an operand; f may assign.
template <typename F>
void for_each_value(Operand& operand, F&& f) {
  if (auto* value = std::get_if<ValueRef>(&operand)) {
    f(*value);
  } else if (auto* list = std::get_if<std::vector<ValueRef>>(&operand)) {
    for (ValueRef& item : *list) f(item);
  }
}
template <typename F>
void for_each_value(const Operand& operand, F&& f) {
  for_each_value(const_cast<Operand&>(operand), [&](ValueRef& value) { f(static_cast<const ValueRef&>(value)); });
}

// Where the user wrote it.
struct SourceLine {
  std::string file;
  int line = 0;
  std::string function;
};
// A user's stack, outermost first; null when unknown. Shared by all nodes of one instruction.
using Location = std::shared_ptr<const std::vector<SourceLine>>;

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
  bool copies = false;  // OutSpec::copies
};

// How the user wrote it, for the FX face and for printing: minidynamo.add(x, y), x.add(y) or x + y.
enum class CallForm : uint8_t { Function, Method, Operator };

struct Node {
  NodeKind kind = NodeKind::Op;
  const OpRow* op = nullptr;      // Op only
  std::string name;               // unique in the graph, a Python identifier: "add", "add_1", "l_x_"
  std::string target;             // inputs and constants: the name asked for ("L_x_"), an argument of forward()
  std::vector<Operand> operands;  // Op: schema order, complete
  std::vector<ValueInfo> outs;
  Tensor constant;                        // TensorConst; nobody writes to it while the graph lives
  Location location;                      // where the user wrote it
  std::shared_ptr<const OpRow> owned_op;  // Op: keeps a row that is in no table
  CallForm form = CallForm::Function;
  Dim size = 0;  // the symbol that its number tells, or no symbol: of a scalar input, or of an int64 tensor of no dims
  int index = -1;  // position, kept by Graph
};

// What a capture relied on about sizes that come out of tensors: a run looks whether it holds.
struct SizeAssumption {
  Dim a;
  DimRelation relation;
  Dim b;
};

inline bool is_op(const Node& node, OpKind kind) { return node.kind == NodeKind::Op && node.op->kind == kind; }
inline bool is_op(const Node& node, OpRole role) { return node.kind == NodeKind::Op && node.op->role() == role; }

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // The name may be that of a source: for L['x'] the argument of forward() is L_x_, and the node l_x_.
  Node* add_tensor_input(const std::string& name, const TensorSpec& spec);
  Node* add_scalar_input(const std::string& name, Scalar::Kind kind);
  // Before all nodes that are there; the last one of the inputs.
  Node* prepend_tensor_input(const std::string& name, const TensorSpec& spec);
  Node* add_constant(const std::string& name, const Tensor& value);
  // Runs the shape rule on fakes of the operands; throws what the rule throws, and then nothing is appended.
  // Trailing operands left out get the schema's defaults.
  Node* add_op(const OpRow& op, std::vector<Operand> operands, Location location = nullptr);
  // The same, in front of a node that is there.
  Node* insert_op(const Node& before, const OpRow& op, std::vector<Operand> operands, Location location = nullptr);
  void set_outputs(std::vector<ValueRef> outputs);

  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::vector<Node*>& inputs() const { return inputs_; }  // tensor and scalar placeholders, in order
  const std::vector<ValueRef>& outputs() const { return outputs_; }
  int op_count() const;
  bool has_call_out() const;
  // Owns what symbolic dims in the graph are made of.
  void keep_dims(std::shared_ptr<const void> table) { dim_table_ = std::move(table); }
  bool is_symbolic() const;  // a size of an input, or a number that an input tells, is symbolic
  void assume(std::vector<SizeAssumption> assumptions) { assumptions_ = std::move(assumptions); }
  const std::vector<SizeAssumption>& assumptions() const { return assumptions_; }
  const ValueInfo& info(ValueRef value) const { return value.node->outs[static_cast<size_t>(value.out)]; }
  // Reads the whole graph: for all nodes at once, use all_users.
  std::vector<Node*> users(const Node* node) const;
  // Users of each node by its index, each user once, in order.
  std::vector<std::vector<Node*>> all_users() const;
  // By node index: true when an output, or an operand of a call-out, is the node's value or a view of it, so that its
  // storage is seen outside.
  std::vector<bool> escaping() const;

  // Drops nodes for which keep is false and renumbers; inputs stay unless drop_inputs.
  // Returns, for each input that stays, its old position among the inputs.
  std::vector<int> retain(const std::function<bool(const Node&)>& keep, bool drop_inputs);
  void replace_uses(ValueRef from, ValueRef to);
  std::unique_ptr<Graph> clone() const;
  // stem itself, or stem_1, stem_2 ...; never a Python keyword or builtin. Characters that no identifier has become "_".
  std::string unique_name(const std::string& stem);
  // The new name must be free; the old one becomes free.
  void rename(Node& node, const std::string& name);

 private:
  Node* append(std::unique_ptr<Node> node);
  Node* add_input(NodeKind kind, const std::string& name, ValueInfo info);
  void move_last_to(size_t at);
  std::shared_ptr<const void> dim_table_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Node*> inputs_;
  std::vector<ValueRef> outputs_;
  std::vector<SizeAssumption> assumptions_;
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> targets_;           // of inputs
  std::unordered_map<std::string, int> name_counts_;  // last suffix given to a stem
};

// What the shape rule says of an op on these operands.
std::vector<ValueInfo> infer_outs(const OpRow& op, std::span<const Operand> operands);
// Throws Error(Type) naming the op and the parameter when an operand is not of the kind that the schema says.
void check_operands(const OpRow& op, std::span<const Operand> operands);
// A number for each node value, used while running: by node index and output.
using ValueOf = std::function<Arg(ValueRef)>;
Arg to_arg(const Operand& operand, const ValueOf& value_of);

// Throws Error(Internal) naming the first node that breaks a rule: operands before use, operand types as the schema says,
// infos as the shape rule gives, names unique.
void verify(const Graph& graph);

// One line per node; parse_graph(print(g)) prints the same. The text form is documented at the top of print.cpp.
std::string print(const Graph& graph);
std::unique_ptr<Graph> parse_graph(const std::string& text);
// Its sign, "+", and its name in the module operator, "add"; null: the op is no operator's.
struct OperatorSymbol {
  const char* op;
  const char* sign;
  const char* name;
  bool is_binary;
};
const OperatorSymbol* operator_symbol(const OpRow& op);
std::string_view method_name(const OpRow& op);  // of the method of Tensor
// The node's form where the op has it, else another one.
CallForm call_form(const Node& node);

// Python source. readable: a class GraphModule with types, and a "# File:" comment before the nodes of each source line
// (the graph_code log, print_readable); otherwise def forward alone (gm.code).
// source_text gives the text of a source line; without it the comments end at the function's name.
using SourceText = std::function<std::string(const SourceLine&)>;
std::string print_code(const Graph& graph, bool readable, const SourceText& source_text = nullptr);
// The type of a value in that source: f32[3, 4][4, 1]cpu.
std::string code_type(const ValueInfo& info);
// Where Python finds an op in that source: minidynamo.add, minidynamo.nn.functional.relu, minidynamo.ops.ns.name.
std::string op_path(const OpRow& op);
// Whether an operand is what the schema gives when it is left out.
bool is_default(const Param& param, const Operand& operand);

struct GraphInput {
  Tensor tensor = {};
  Scalar scalar{int64_t{0}};
};
// Applies every op eagerly, in order: the "eager" backend, and the oracle of plans.
std::vector<Tensor> run_eagerly(const Graph& graph, std::span<const GraphInput> inputs);

}  // namespace md
