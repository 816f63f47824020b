// The text form of a graph: one line per node, in order, then the outputs. parse_graph reads it back.
//
//   %l_x_ = input L_x_ : f32[2, 3][3, 1]
//   %l_n_ = scalar L_n_ : int
//   %w = constant w : f32[2][1] {0.5, 2}
//   %add = add(%l_x_, %l_n_, alpha=1) : f32[2, 3][3, 1]
//   %split = split(%add, 1, 0) : f32[1, 3][3, 1], f32[1, 3][3, 1]
//   %cat = cat([%split.0, %split.1], 0) : f32[2, 3][3, 1] grad method
//   return %cat, %w
//
// Type     short dtype name, sizes, strides in elements; "grad" follows when it requires grad. Scalars: bool, int,
//          float.
// Operand  in schema order, complete; keyword-only ones by name. A value is %name, or %name.k of a node with several
//          results; a list [..]; numbers, True, False, None as in Python (a float always has a point, exponent, inf or
//          nan); sizes (2, 3), (2,), (); a dtype by its name; text in double quotes with \" \\ \n escaped.
// Constant {values in order}; {...} when there are more than 16, which parse as zeros.
// "method" at the end: written as a method call. Source locations are not part of the text.
#include "graph/graph.h"
#include "graph/text.h"

namespace md {
namespace {

constexpr int64_t kMaxPrintedElements = 16;

std::string print_value(ValueRef value) {
  std::string text = "%" + value.node->name;
  if (value.node->outs.size() != 1) text += "." + std::to_string(value.out);
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string print_operand(const Operand& operand) {
  if (const auto* value = std::get_if<ValueRef>(&operand)) return print_value(*value);
  if (const auto* list = std::get_if<std::vector<ValueRef>>(&operand)) {
    std::string text = "[";
    for (const ValueRef& item : *list) text += (text.size() > 1 ? ", " : "") + print_value(item);
    return text + "]";
  }
  if (const auto* scalar = std::get_if<Scalar>(&operand)) return scalar->str();
  if (const auto* dims = std::get_if<DimVec>(&operand)) return str(dims->span());
  if (const auto* dtype = std::get_if<DType>(&operand)) return row(*dtype).name;
  if (const auto* text = std::get_if<std::string>(&operand)) return quoted(*text);
  return "None";
}

std::string print_info(const ValueInfo& info) {
  if (info.is_scalar) return scalar_kind_name(info.scalar_kind);
  return info.spec.str() + (info.spec.requires_grad ? " grad" : "");
}

std::string print_infos(const Node& node) {
  std::string text;
  for (const ValueInfo& info : node.outs) {
    if (!text.empty()) text += ", ";
    text += print_info(info);
  }
  return text;
}

std::string print_elements(const Tensor& tensor) {
  int64_t count = tensor->numel();
  if (count > kMaxPrintedElements) return "{...}";
  std::string text = "{";
  for (int64_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + get_element(tensor, i).str();
  return text + "}";
}

std::string print_node(const Node& node) {
  std::string text = "%" + node.name + " = ";
  switch (node.kind) {
    case NodeKind::TensorInput:
      return text + "input " + node.target + " : " + print_infos(node);
    case NodeKind::ScalarInput:
      return text + "scalar " + node.target + " : " + print_infos(node);
    case NodeKind::TensorConst:
      return text + "constant " + node.target + " : " + print_infos(node) + " " + print_elements(node.constant);
    case NodeKind::Op:
      break;
  }
  text += node.op->name + "(";
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Param& param = node.op->schema.params[i];
    if (i > 0) text += ", ";
    if (param.keyword_only) text += param.name + "=";
    text += print_operand(node.operands[i]);
  }
  text += ") : " + print_infos(node);
  if (node.form == CallForm::Method) text += " method";
  if (node.form == CallForm::Operator) text += " operator";
  return text;
}

}  // namespace

std::string print(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes()) text += print_node(*node) + "\n";
  text += "return";
  for (size_t i = 0; i < graph.outputs().size(); ++i) text += (i > 0 ? ", " : " ") + print_value(graph.outputs()[i]);
  return text + "\n";
}

}  // namespace md
