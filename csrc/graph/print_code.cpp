// A graph as Python source, in the layout that readers of torch.fx know:
//
//   class GraphModule(minidynamo.nn.Module):
//       def forward(self, L_x_: "f32[3][1]cpu"):
//           l_x_ = L_x_
//
//            # File: train.py:12 in step, code: y = x + 1
//           add: "f32[3][1]cpu" = l_x_ + 1;  l_x_ = None
//           return (add,)
//
// A variable is set to None after the last statement that uses it.
#include <algorithm>

#include "graph/graph.h"
#include "graph/text.h"

namespace md {
namespace {

// Ops with a Python operator. The module operator also has each under the name of its special method.
constexpr OperatorSymbol kOperators[] = {
#define MD_BINARY_OPERATOR(name, sign, sign_in_errors, stem, slot, op) {op, sign, "__" stem "__", true},
#include "base/binary_operators.def"
#undef MD_BINARY_OPERATOR
    {"eq", "==", "eq", true},   {"ne", "!=", "ne", true},        {"lt", "<", "lt", true},
    {"le", "<=", "le", true},   {"gt", ">", "gt", true},         {"ge", ">=", "ge", true},
    {"neg", "-", "neg", false}, {"positive", "+", "pos", false}, {"bitwise_not", "~", "invert", false},
};

bool holds_values(const Operand& operand) {
  return std::holds_alternative<ValueRef>(operand) || std::holds_alternative<std::vector<ValueRef>>(operand);
}

std::string code_value(ValueRef value) {
  std::string text = value.node->name;
  if (has_several_results(*value.node)) text += "[" + std::to_string(value.out) + "]";
  return text;
}

std::string code_string(const std::string& text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string code_scalar(const Scalar& scalar) {
  std::string text = scalar.str();
  bool is_name = text == "nan" || text == "inf" || text == "-inf";
  return is_name ? "float('" + text + "')" : text;
}

std::string code_operand(const Operand& operand, const char* library) {
  if (const auto* value = std::get_if<ValueRef>(&operand)) return code_value(*value);
  if (const auto* list = std::get_if<std::vector<ValueRef>>(&operand)) {
    std::string text = "[";
    for (const ValueRef& item : *list) text += (text.size() > 1 ? ", " : "") + code_value(item);
    return text + "]";
  }
  if (const auto* scalar = std::get_if<Scalar>(&operand)) return code_scalar(*scalar);
  if (const auto* dims = std::get_if<DimVec>(&operand)) return str(dims->span());
  if (const auto* dtype = std::get_if<DType>(&operand)) return str_cat(library, ".", row(*dtype).name);
  if (const auto* text = std::get_if<std::string>(&operand)) return code_string(*text);
  return "None";
}

// Memory formats are objects in Python and names in graphs.
std::string code_operand(const Param& param, const Operand& operand, const char* library) {
  const auto* text = std::get_if<std::string>(&operand);
  bool is_format = text != nullptr && param.type == ParamType::MemoryFormat;
  return is_format ? str_cat(library, ".", *text) : code_operand(operand, library);
}

// Prints from operand `first` on.
std::string code_arguments(const Node& node, size_t first, const GraphFace& face) {
  std::string text;
  std::vector<ArgumentForm> forms = argument_forms(node, face);
  for (size_t i = first; i < node.operands.size(); ++i) {
    const Param& param = node.op->schema.params[i];
    if (forms[i] == ArgumentForm::Omitted) continue;
    if (!text.empty()) text += ", ";
    if (forms[i] == ArgumentForm::Named) text += param.name + "=";
    text += code_operand(param, node.operands[i], face.library);
  }
  return text;
}

// Unary operators bind tighter than all but **; a negative number is one.
std::string code_left_side(const Operand& operand) {
  std::string text = operand_code(operand);
  return text[0] == '-' ? "(" + text + ")" : text;
}

std::string code_operator(const Node& node, const OperatorSymbol& symbol) {
  std::string left = code_left_side(node.operands[0]);
  return symbol.is_binary ? str_cat(left, " ", symbol.sign, " ", operand_code(node.operands[1])) : symbol.sign + left;
}

std::string code_expression(const Node& node, const GraphFace& face) {
  if (node.kind == NodeKind::TensorConst) return "self." + node.name;
  if (node.kind != NodeKind::Op) return node.target;
  switch (call_form(node, face)) {
    case CallForm::Operator:
      return code_operator(node, *operator_symbol(*node.op));
    case CallForm::Method:
      return str_cat(code_value(std::get<ValueRef>(node.operands[0])), ".", method_name(*node.op), "(",
                     code_arguments(node, 1, face), ")");
    case CallForm::Function:
      break;
  }
  return face.op_path(*node.op) + "(" + code_arguments(node, 0, face) + ")";
}

// For each node, the names without later uses, in operand order.
std::vector<std::vector<std::string>> dead_names(const Graph& graph) {
  std::vector<std::vector<std::string>> dead(graph.nodes().size());
  std::vector<bool> seen(graph.nodes().size(), false);
  for (const ValueRef& output : graph.outputs()) seen[static_cast<size_t>(output.node->index)] = true;
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = *graph.nodes()[i];
    if (node.kind != NodeKind::Op) continue;
    for (const Operand& operand : node.operands) {
      for_each_value(operand, [&](const ValueRef& value) {
        size_t index = static_cast<size_t>(value.node->index);
        if (!seen[index]) dead[i].push_back(value.node->name);
        seen[index] = true;
      });
    }
    if (!seen[i]) dead[i].push_back(node.name);
  }
  return dead;
}

class CodePrinter {
 public:
  CodePrinter(const Graph& graph, bool readable, const SourceText& source_text, const GraphFace& face)
      : graph_(graph), readable_(readable), source_text_(source_text), face_(face), dead_(dead_names(graph)) {
    indent_ = readable ? "        " : "    ";
  }

  std::string run() {
    print_header();
    for (const Node* input : graph_.inputs()) {
      if (input->name != input->target) text_ += indent_ + input->name + " = " + input->target + "\n";
    }
    for (const auto& node : graph_.nodes()) {
      if (node->kind == NodeKind::Op || node->kind == NodeKind::TensorConst) print_statement(*node);
    }
    print_return();
    return std::move(text_);
  }

 private:
  void print_header() {
    if (readable_) text_ += str_cat("class GraphModule(", face_.library, ".nn.Module):\n    ");
    text_ += "def forward(self";
    for (const Node* input : graph_.inputs()) {
      text_ += ", " + input->target;
      if (readable_) text_ += ": \"" + code_type(input->outs[0]) + "\"";
    }
    text_ += "):\n";
  }

  void print_statement(const Node& node) {
    if (readable_) print_location(node);
    text_ += indent_ + node.name;
    if (readable_ && node.outs.size() == 1) text_ += ": \"" + code_type(node.outs[0]) + "\"";
    text_ += " = " + code_expression(node, face_);
    if (node.kind == NodeKind::Op && node.size.is_symbolic())
      text_ += str_cat("\n", indent_, node.size.str(), " = ", node.name, ".item()");
    const std::vector<std::string>& dead = dead_[static_cast<size_t>(node.index)];
    for (size_t i = 0; i < dead.size(); ++i) text_ += (i == 0 ? ";  " : " = ") + dead[i];
    if (!dead.empty()) text_ += " = None";
    text_ += "\n";
  }

  void print_location(const Node& node) {
    if (node.location == nullptr || node.location->empty()) return;
    const SourceLine& line = node.location->back();
    std::string comment = str_cat("# File: ", file_and_line(line), " in ", line.function);
    if (source_text_) {
      std::string source = source_text_(line);
      size_t start = source.find_first_not_of(" \t");
      size_t end = source.find_last_not_of(" \t\r\n");
      if (start != std::string::npos) comment += ", code: " + source.substr(start, end - start + 1);
    }
    if (comment == last_comment_) return;
    last_comment_ = comment;
    text_ += "\n" + indent_ + " " + comment + "\n";
  }

  void print_return() {
    text_ += indent_ + "return (";
    for (size_t i = 0; i < graph_.outputs().size(); ++i) text_ += (i > 0 ? ", " : "") + code_value(graph_.outputs()[i]);
    text_ += graph_.outputs().size() == 1 ? ",)\n" : ")\n";
  }

  const Graph& graph_;
  bool readable_;
  const SourceText& source_text_;
  const GraphFace& face_;
  std::vector<std::vector<std::string>> dead_;
  std::string indent_;
  std::string last_comment_;
  std::string text_;
};

}  // namespace

bool is_default(const Param& param, const Operand& operand) {
  if (!param.default_value) return false;
  const Arg& value = *param.default_value;
  if (std::holds_alternative<std::monostate>(operand)) return is_none(value);
  if (const auto* scalar = std::get_if<Scalar>(&operand)) {
    return std::holds_alternative<Scalar>(value) && identical(*scalar, std::get<Scalar>(value));
  }
  if (const auto* dims = std::get_if<DimVec>(&operand)) {
    return std::holds_alternative<DimVec>(value) && same(*dims, std::get<DimVec>(value));
  }
  if (const auto* dtype = std::get_if<DType>(&operand)) {
    return std::holds_alternative<DType>(value) && *dtype == std::get<DType>(value);
  }
  if (const auto* text = std::get_if<std::string>(&operand)) {
    return std::holds_alternative<std::string>(value) && *text == std::get<std::string>(value);
  }
  return false;
}

// Defaults are left out, and what follows one is named. Where names tell overloads apart, all that follows the leading
// tensors is named as soon as anything is.
std::vector<ArgumentForm> argument_forms(const Node& node, const GraphFace& face) {
  const std::vector<Param>& params = node.op->schema.params;
  std::vector<ArgumentForm> forms(node.operands.size(), ArgumentForm::Positional);
  size_t given = 0;  // behind the last positional one
  bool any_named = false;
  for (size_t i = 0; i < forms.size(); ++i) {
    if (is_default(params[i], node.operands[i])) {
      forms[i] = ArgumentForm::Omitted;
    } else if (params[i].keyword_only || (given < i && !params[i].keyword_only)) {
      forms[i] = ArgumentForm::Named;
    }
    any_named = any_named || forms[i] == ArgumentForm::Named;
    if (forms[i] == ArgumentForm::Positional) given = i + 1;
  }
  if (!face.needs_names || !any_named) return forms;
  size_t last = forms.size();
  while (last > 0 && (forms[last - 1] == ArgumentForm::Omitted || params[last - 1].keyword_only)) --last;
  size_t tensors = 0;
  while (tensors < last && holds_values(node.operands[tensors])) ++tensors;
  std::fill(forms.begin() + static_cast<std::ptrdiff_t>(tensors), forms.begin() + static_cast<std::ptrdiff_t>(last),
            ArgumentForm::Named);
  return forms;
}

bool has_several_results(const Node& node) {
  return node.outs.size() != 1 || (node.kind == NodeKind::Op && node.op->returns_list());
}

const OperatorSymbol* operator_symbol(const OpRow& op) {
  for (const OperatorSymbol& symbol : kOperators)
    if (op.name == symbol.op) return &symbol;
  return nullptr;
}

std::string_view method_name(const OpRow& op) { return op.kind == OpKind::Cast ? "to" : python_name(op); }

CallForm call_form(const Node& node, const GraphFace& face) {
  if (node.op->kind == OpKind::Cast) return CallForm::Method;  // including those inserted by promotion
  bool has_function = (node.op->variants & (kFunction | kFunctional)) != 0;
  bool has_method = face.has_method(*node.op);
  bool self_is_value = !node.operands.empty() && std::holds_alternative<ValueRef>(node.operands[0]);
  if (node.form == CallForm::Function && !has_function && (node.op->variants & kMethod) != 0 && has_method)
    return CallForm::Method;
  if (node.form == CallForm::Method && !(self_is_value && has_method)) return CallForm::Function;
  return node.form == CallForm::Operator && operator_symbol(*node.op) == nullptr ? CallForm::Function : node.form;
}

std::string op_path(const OpRow& op) {
  if (op.variants & kFunction) return str_cat("minidynamo.", python_name(op));
  if (op.variants & kFunctional) return str_cat("minidynamo.nn.functional.", python_name(op));
  if (op.variants == kUnseen && op.kind != OpKind::HostCall) return str_cat("minidynamo.ops.prims.", python_name(op));
  std::string path = str_cat("minidynamo.ops.", python_name(op));
  for (size_t at = path.find("::"); at != std::string::npos; at = path.find("::")) path.replace(at, 2, ".");
  return path;
}

constinit const GraphFace kOwnFace{"minidynamo", op_path, [](const OpRow&) { return true; }, false};

std::string code_type(const ValueInfo& info) {
  if (info.is_scalar) return scalar_kind_name(info.scalar_kind);
  return info.spec.str() + "cpu";
}

std::string operand_code(const Operand& operand) { return code_operand(operand, kOwnFace.library); }

std::string print_code(const Graph& graph, bool readable, const SourceText& source_text, const GraphFace& face) {
  return CodePrinter(graph, readable, source_text, face).run();
}

}  // namespace md
