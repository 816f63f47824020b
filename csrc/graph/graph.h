// A captured computation: functional, dtypes final, casts explicit. Contains no Python objects.
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

// Operand of a node: None, a value, a list of values, or a constant. A run-time scalar is
// the value of a ScalarInput node.
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

// Source line of the user's code.
struct SourceLine {
  std::string file;
  int line = 0;
  std::string function;
};
std::string file_and_line(const SourceLine& line);  // "f.py:3"
// The user's stack, outermost frame first; null if unknown. Shared by all nodes of one instruction.
using Location = std::shared_ptr<const std::vector<SourceLine>>;

enum class NodeKind : uint8_t {
  TensorInput,  // placeholder
  ScalarInput,  // placeholder: a Python int, float or bool whose value is known only at run time
  TensorConst,  // a tensor owned by the graph (get_attr)
  Op,
};

// Static information about one result.
struct ValueInfo {
  TensorSpec spec;
  bool is_scalar = false;
  Scalar::Kind scalar_kind = Scalar::Kind::Int;
  bool copies = false;  // OutSpec::copies
};

// Call syntax in the user's code, for FX and for printing: minidynamo.add(x, y), x.add(y) or x + y.
enum class CallForm : uint8_t { Function, Method, Operator };

struct Node {
  NodeKind kind = NodeKind::Op;
  const OpRow* op = nullptr;      // Op only
  std::string name;               // unique in the graph, a Python identifier: "add", "add_1", "l_x_"
  std::string target;             // inputs and constants: the requested name ("L_x_"), an argument of forward()
  std::vector<Operand> operands;  // Op: schema order, complete
  std::vector<ValueInfo> outs;
  Tensor constant;                        // TensorConst; never written while the graph lives
  Location location;                      // where it is in the user's code
  std::shared_ptr<const OpRow> owned_op;  // Op: owns a row that is in no table
  CallForm form = CallForm::Function;
  // TensorInput: a node that was dropped as dead read its elements. Python reads them if it runs the program again.
  bool has_dropped_reads = false;
  bool is_under_inference = false;  // captured in inference mode: its views are not followed
  Dim size = 0;    // the symbol whose value this node defines, if any: a scalar input, or a 0-d int64 tensor
  int index = -1;  // position, maintained by Graph
};

// A runtime assertion on sizes read from tensors, checked at each run.
struct RuntimeAssert {
  Dim a;
  DimRelation relation;
  Dim b;
};

inline bool is_op(const Node& node, OpKind kind) { return node.kind == NodeKind::Op && node.op->kind == kind; }
// Whether it is a host call that must not be repeated.
inline bool draws(const Node& node) { return node.kind == NodeKind::Op && node.op->draws(); }
inline bool is_made_once(const Node& node) { return is_op(node, OpKind::HostCall) && !node.op->host_call.repeatable; }
inline bool is_op(const Node& node, OpRole role) { return node.kind == NodeKind::Op && node.op->role() == role; }

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // The name may come from a source: for L['x'] the argument of forward() is L_x_, and the node l_x_.
  Node* add_tensor_input(const std::string& name, const TensorSpec& spec);
  Node* add_scalar_input(const std::string& name, Scalar::Kind kind);
  // Inserted before all existing nodes; the last of the inputs.
  Node* prepend_tensor_input(const std::string& name, const TensorSpec& spec);
  Node* add_constant(const std::string& name, const Tensor& value);
  // Runs the shape rule on fakes of the operands; if the rule throws, nothing is appended. Omitted trailing
  // operands get the schema's defaults.
  Node* add_op(const OpRow& op, std::vector<Operand> operands, Location location = nullptr);
  // The same, inserted before an existing node.
  Node* insert_op(const Node& before, const OpRow& op, std::vector<Operand> operands, Location location = nullptr);
  void set_outputs(std::vector<ValueRef> outputs);
  // Brings the inputs into this order, before all other nodes.
  void order_inputs(std::span<Node* const> order);

  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::vector<Node*>& inputs() const { return inputs_; }  // tensor and scalar placeholders, in order
  const std::vector<ValueRef>& outputs() const { return outputs_; }
  int op_count() const;
  // Those that may be repeated do not count.
  bool has_host_call() const { return host_calls_ > 0; }
  // Takes shared ownership of the table that symbolic dims in the graph refer to.
  void keep_dims(std::shared_ptr<const void> table) { dim_table_ = std::move(table); }
  const std::shared_ptr<const void>& kept_dims() const { return dim_table_; }
  bool is_symbolic() const;  // whether a size of an input, or a number defined by an input, is symbolic
  void set_runtime_asserts(std::vector<RuntimeAssert> runtime_asserts) {
    runtime_asserts_ = std::move(runtime_asserts);
  }
  const std::vector<RuntimeAssert>& runtime_asserts() const { return runtime_asserts_; }
  // Floating-point exceptions are seen: what may meet one is computed at each run, used or not.
  void watch_float_flags() { watches_float_flags_ = true; }
  bool watches_float_flags() const { return watches_float_flags_; }
  // Results may be gone back to from others: each operation has a history of its own.
  void keep_histories(bool keeps) { keeps_histories_ = keeps; }
  bool keeps_histories() const { return keeps_histories_; }
  const ValueInfo& info(ValueRef value) const { return value.node->outs[static_cast<size_t>(value.out)]; }
  // Scans the whole graph; to query all nodes, use all_users().
  std::vector<Node*> users(const Node* node) const;
  // By node index: the users of each node, without duplicates, in order.
  std::vector<std::vector<Node*>> all_users() const;
  // By node index: whether the node's value or a view of it is an output or an operand of a host
  // call, so that its storage escapes.
  std::vector<bool> escaping() const { return escaping(outputs_); }
  // The same for some of the outputs.
  std::vector<bool> escaping(std::span<const ValueRef> outputs) const;

  // Drops nodes for which `keep` is false and renumbers; keeps inputs unless drop_inputs. Returns, for each remaining
  // input, its old position among the inputs.
  std::vector<int> retain(const std::function<bool(const Node&)>& keep, bool drop_inputs);
  void replace_uses(ValueRef from, ValueRef to);
  std::unique_ptr<Graph> clone() const;
  // Returns stem, or stem_1, stem_2 ...; never a Python keyword or builtin. Characters not
  // allowed in identifiers become "_".
  std::string unique_name(const std::string& stem);
  // The new name must be free; releases the old one.
  void rename(Node& node, const std::string& name);

 private:
  Node* append(std::unique_ptr<Node> node);
  Node* add_input(NodeKind kind, const std::string& name, ValueInfo info);
  void move_last_to(size_t at);
  std::shared_ptr<const void> dim_table_;
  bool watches_float_flags_ = false;
  bool keeps_histories_ = false;
  int64_t host_calls_ = 0;  // nodes of this kind
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Node*> inputs_;
  std::vector<ValueRef> outputs_;
  std::vector<RuntimeAssert> runtime_asserts_;
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> targets_;           // of inputs
  std::unordered_map<std::string, int> name_counts_;  // last suffix used for a stem
};

// Runs the shape rule of an op on these operands.
std::vector<ValueInfo> infer_outs(const OpRow& op, std::span<const Operand> operands);
// Throws Error(Type) naming the op and the parameter if an operand is not of the kind in the schema.
void check_operands(const OpRow& op, std::span<const Operand> operands);
// Maps a node value to its value at run time.
using ValueOf = std::function<Arg(ValueRef)>;
Arg to_arg(const Operand& operand, const ValueOf& value_of);

// Throws Error(Internal) naming the first node that violates an invariant: definition before use, operand types match
// the schema, infos match the shape rule, unique names.
void verify(const Graph& graph);

// One line per node; parse_graph(print(g)) prints the same. The text form is documented at the top of print.cpp.
std::string print(const Graph& graph);
std::unique_ptr<Graph> parse_graph(const std::string& text);
// Its sign, "+", and its name in the module operator, "add"; null if the op has no operator.
struct OperatorSymbol {
  const char* op;
  const char* sign;
  const char* name;
  bool is_binary;
};
const OperatorSymbol* operator_symbol(const OpRow& op);
std::string_view method_name(const OpRow& op);  // name of the Tensor method

// The names in which a graph is shown: those of the library whose program it was captured from.
struct GraphFace {
  const char* library;                      // has the dtypes and memory formats: "minidynamo"
  std::string (*op_path)(const OpRow& op);  // "minidynamo.add"; another library's has ours where it has none of its own
  bool (*has_method)(const OpRow& op);      // whether its tensors have the method
  bool needs_names;                         // some of its overloads are told apart by the names of arguments
};
extern const GraphFace kOwnFace;
// Whether its results are the elements of a tuple.
bool has_several_results(const Node& node);
// The node's form if the op has it, else another one.
CallForm call_form(const Node& node, const GraphFace& face = kOwnFace);

// Python source. readable: a class GraphModule with types, and a "# File:" comment before the nodes of each source line
// (the graph_code log, print_readable); otherwise only def forward (gm.code). source_text returns the text of a source
// line; without it the comments end at the function name.
using SourceText = std::function<std::string(const SourceLine&)>;
std::string print_code(const Graph& graph, bool readable, const SourceText& source_text = nullptr,
                       const GraphFace& face = kOwnFace);
// The type of a value in that source: f32[3, 4][4, 1]cpu.
std::string code_type(const ValueInfo& info);
// Qualified Python name of an op in that source: minidynamo.add, minidynamo.nn.functional.relu, minidynamo.ops.ns.name.
std::string op_path(const OpRow& op);
// Whether an operand equals the schema's default.
bool is_default(const Param& param, const Operand& operand);

// How the operands of a call are written: in place, by name, or not at all where they equal their defaults.
enum class ArgumentForm : uint8_t { Positional, Named, Omitted };
std::vector<ArgumentForm> argument_forms(const Node& node, const GraphFace& face = kOwnFace);

struct GraphInput {
  Tensor tensor = {};
  Scalar scalar{int64_t{0}};
};
// Applies every op eagerly, in order: the "eager" backend, and the reference for plans.
std::vector<Tensor> run_eagerly(const Graph& graph, std::span<const GraphInput> inputs);
// The same; ops whose results require grad, by the graph, keep a history, and where `all` every op does that has an
// operand which requires grad. Symbolic sizes are those of the inputs.
std::vector<Tensor> run_with_histories(const Graph& graph, std::span<const GraphInput> inputs, bool all = true);

}  // namespace md
