#include "graph/graph.h"

#include "graph/gradient.h"

#include <algorithm>
#include <array>

#include "tensor/ops/gradient_flow.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

// Names that Python source of the graph must not bind.
constexpr auto kReservedNames = std::to_array<std::string_view>({
    "False",    "None",       "True",    "abs",     "all",      "and",    "any",    "as",      "assert",    "async",
    "await",    "bin",        "bool",    "break",   "bytes",    "chr",    "class",  "complex", "continue",  "def",
    "del",      "device",     "dict",    "dir",     "divmod",   "dtype",  "elif",   "else",    "enumerate", "eval",
    "except",   "exec",       "filter",  "finally", "float",    "for",    "format", "from",    "frozenset", "getattr",
    "global",   "hash",       "hex",     "id",      "if",       "import", "in",     "inf",     "input",     "int",
    "is",       "iter",       "lambda",  "len",     "list",     "map",    "max",    "min",     "nan",       "next",
    "nonlocal", "not",        "object",  "oct",     "open",     "or",     "ord",    "pass",    "pow",       "print",
    "range",    "raise",      "repr",    "return",  "reversed", "round",  "self",   "set",     "setattr",   "slice",
    "sorted",   "str",        "sum",     "super",   "try",      "tuple",  "type",   "vars",    "while",     "with",
    "yield",    "minidynamo", "forward",
});

bool is_reserved(const std::string& name) {
  static const std::unordered_set<std::string_view> reserved(kReservedNames.begin(), kReservedNames.end());
  return reserved.contains(name);
}

std::string identifier(const std::string& stem) {
  std::string name;
  for (char c : stem) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(name.begin(), '_');
  return name;
}

// The local variable for argument L_x_ is l_x_.
std::string lower_case(std::string name) {
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

bool takes_scalar_value(ParamType type, Scalar::Kind kind) {
  switch (type) {
    case ParamType::Scalar:
    case ParamType::Number:
    case ParamType::Float:
    case ParamType::Any:
      return true;
    case ParamType::Int:
      return kind != Scalar::Kind::Float;
    case ParamType::Bool:
      return kind == Scalar::Kind::Bool;
    case ParamType::Tensor:
    case ParamType::TensorList:
    case ParamType::IntList:
    case ParamType::Dtype:
    case ParamType::Str:
    case ParamType::Device:
    case ParamType::MemoryFormat:
      return false;
  }
  return false;
}

bool operand_fits(const Param& param, const Operand& operand) {
  if (std::holds_alternative<std::monostate>(operand)) {
    return param.optional || param.type == ParamType::Device || param.type == ParamType::Any ||
           (param.default_value && is_none(*param.default_value));
  }
  if (const auto* value = std::get_if<ValueRef>(&operand)) {
    const ValueInfo& info = value->node->outs[static_cast<size_t>(value->out)];
    if (info.is_scalar) return takes_scalar_value(param.type, info.scalar_kind);
    return param.type == ParamType::Tensor || param.type == ParamType::Number || param.type == ParamType::Any;
  }
  if (const auto* list = std::get_if<std::vector<ValueRef>>(&operand)) {
    if (param.type != ParamType::TensorList && param.type != ParamType::Any) return false;
    return std::none_of(list->begin(), list->end(), [](const ValueRef& value) {
      return value.node->outs[static_cast<size_t>(value.out)].is_scalar;
    });
  }
  if (const auto* scalar = std::get_if<Scalar>(&operand)) return takes_scalar_value(param.type, scalar->kind());
  if (std::holds_alternative<DimVec>(operand)) return param.type == ParamType::IntList || param.type == ParamType::Any;
  if (std::holds_alternative<DType>(operand)) return param.type == ParamType::Dtype || param.type == ParamType::Any;
  return param.type == ParamType::Str || param.type == ParamType::Device || param.type == ParamType::MemoryFormat ||
         param.type == ParamType::Any;
}

Operand to_operand(const Arg& arg) {
  if (const auto* scalar = std::get_if<Scalar>(&arg)) return *scalar;
  if (const auto* dims = std::get_if<DimVec>(&arg)) return *dims;
  if (const auto* dtype = std::get_if<DType>(&arg)) return *dtype;
  if (const auto* text = std::get_if<std::string>(&arg)) return *text;
  if (const auto* list = std::get_if<std::vector<Tensor>>(&arg)) {
    MD_ASSERT(list->empty(), "a default value cannot hold tensors");
    return std::vector<ValueRef>();
  }
  MD_ASSERT(is_none(arg), "a default value cannot be a tensor");
  return std::monostate();
}

Arg fake_value(ValueRef value) {
  const ValueInfo& info = value.node->outs[static_cast<size_t>(value.out)];
  if (info.is_scalar) return Scalar::unknown(info.scalar_kind);
  return Tensor::fake(info.spec);
}

}  // namespace

std::string file_and_line(const SourceLine& line) { return str_cat(line.file, ":", line.line); }

Arg to_arg(const Operand& operand, const ValueOf& value_of) {
  if (const auto* value = std::get_if<ValueRef>(&operand)) return value_of(*value);
  if (const auto* list = std::get_if<std::vector<ValueRef>>(&operand)) {
    std::vector<Tensor> tensors;
    tensors.reserve(list->size());
    for (const ValueRef& item : *list) tensors.push_back(std::get<Tensor>(value_of(item)));
    return tensors;
  }
  if (const auto* scalar = std::get_if<Scalar>(&operand)) return *scalar;
  if (const auto* dims = std::get_if<DimVec>(&operand)) return *dims;
  if (const auto* dtype = std::get_if<DType>(&operand)) return *dtype;
  if (const auto* text = std::get_if<std::string>(&operand)) return *text;
  return std::monostate();
}

void check_operands(const OpRow& op, std::span<const Operand> operands) {
  const std::vector<Param>& params = op.schema.params;
  if (operands.size() != params.size()) {
    raise_op(ErrorKind::Type, op.name, "takes ", params.size(), " operands, got ", operands.size());
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (!operand_fits(params[i], operands[i])) {
      raise_op(ErrorKind::Type, op.name, "operand '", params[i].name, "' does not fit ", op.schema.text);
    }
  }
}

std::vector<ValueInfo> infer_outs(const OpRow& op, std::span<const Operand> operands) {
  if (op.shape_rule == nullptr)
    raise_op(ErrorKind::NotImplemented, op.name, "has no shape rule, so it cannot be captured");
  std::vector<Arg> args;
  args.reserve(operands.size());
  for (const Operand& operand : operands) args.push_back(to_arg(operand, fake_value));
  std::vector<OutSpec> specs;
  infer_results(OpCall{op, args}, specs);
  const TensorModes& modes = tensor_modes();
  bool grad = modes.grad_enabled && !modes.inference_mode && passes_gradient(op) && any_requires_grad(operands);
  std::vector<ValueInfo> outs(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    outs[i].spec = std::move(specs[i].spec);
    outs[i].copies = specs[i].copies;
    if (grad && is_inexact(outs[i].spec.dtype)) outs[i].spec.requires_grad = true;
  }
  return outs;
}

Node* Graph::append(std::unique_ptr<Node> node) {
  node->index = static_cast<int>(nodes_.size());
  host_calls_ += is_made_once(*node);
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

Node* Graph::add_input(NodeKind kind, const std::string& name, ValueInfo info) {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->name = unique_name(lower_case(name));
  node->target = identifier(name);
  while (!targets_.insert(node->target).second) node->target += '_';
  node->outs.push_back(std::move(info));
  inputs_.push_back(append(std::move(node)));
  return inputs_.back();
}

Node* Graph::add_tensor_input(const std::string& name, const TensorSpec& spec) {
  return add_input(NodeKind::TensorInput, name, {.spec = spec});
}

Node* Graph::add_scalar_input(const std::string& name, Scalar::Kind kind) {
  return add_input(NodeKind::ScalarInput, name, {.spec = {}, .is_scalar = true, .scalar_kind = kind});
}

Node* Graph::add_constant(const std::string& name, const Tensor& value) {
  MD_ASSERT(value.defined() && value->kind() == TensorKind::Real, "a constant of a graph is a real tensor");
  auto node = std::make_unique<Node>();
  node->kind = NodeKind::TensorConst;
  node->name = unique_name(lower_case(name));
  node->target = name;
  node->outs.push_back({.spec = value.spec()});
  node->constant = value;
  return append(std::move(node));
}

Node* Graph::add_op(const OpRow& op, std::vector<Operand> operands, Location location) {
  const std::vector<Param>& params = op.schema.params;
  for (size_t i = operands.size(); i < params.size() && params[i].default_value; ++i) {
    operands.push_back(to_operand(*params[i].default_value));
  }
  check_operands(op, operands);
  auto node = std::make_unique<Node>();
  node->outs = infer_outs(op, operands);
  node->op = &op;
  node->operands = std::move(operands);
  node->location = std::move(location);
  node->name = unique_name(std::string(python_name(op)));
  return append(std::move(node));
}

Node* Graph::insert_op(const Node& before, const OpRow& op, std::vector<Operand> operands, Location location) {
  size_t at = static_cast<size_t>(before.index);
  Node* node = add_op(op, std::move(operands), std::move(location));
  move_last_to(at);
  return node;
}

void Graph::move_last_to(size_t at) {
  std::rotate(nodes_.begin() + static_cast<std::ptrdiff_t>(at), nodes_.end() - 1, nodes_.end());
  for (; at < nodes_.size(); ++at) nodes_[at]->index = static_cast<int>(at);
}

Node* Graph::prepend_tensor_input(const std::string& name, const TensorSpec& spec) {
  Node* node = add_tensor_input(name, spec);
  move_last_to(0);
  return node;
}

void Graph::order_inputs(std::span<Node* const> order) {
  MD_ASSERT(order.size() == inputs_.size(), "each input has a place");
  std::vector<size_t> places(nodes_.size(), order.size());
  for (size_t i = 0; i < order.size(); ++i) places[static_cast<size_t>(order[i]->index)] = i;
  auto place_of = [&](const std::unique_ptr<Node>& node) { return places[static_cast<size_t>(node->index)]; };
  std::stable_sort(nodes_.begin(), nodes_.end(),
                   [&](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
  inputs_.assign(order.begin(), order.end());
  for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->index = static_cast<int>(i);
}

void Graph::set_outputs(std::vector<ValueRef> outputs) { outputs_ = std::move(outputs); }

int Graph::op_count() const {
  return static_cast<int>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->kind == NodeKind::Op; }));
}

bool Graph::is_symbolic() const {
  return std::any_of(inputs_.begin(), inputs_.end(), [](const Node* node) {
    return node->size.is_symbolic() || any_symbolic(node->outs[0].spec.sizes.span());
  });
}

std::vector<Node*> Graph::users(const Node* node) const {
  std::vector<Node*> found;
  for (size_t i = static_cast<size_t>(node->index) + 1; i < nodes_.size(); ++i) {
    bool uses = false;
    for (const Operand& operand : nodes_[i]->operands) {
      for_each_value(operand, [&](const ValueRef& value) { uses = uses || value.node == node; });
    }
    if (uses) found.push_back(nodes_[i].get());
  }
  return found;
}

std::vector<std::vector<Node*>> Graph::all_users() const {
  std::vector<std::vector<Node*>> users(nodes_.size());
  for (const auto& node : nodes_) {
    for (const Operand& operand : node->operands) {
      for_each_value(operand, [&](const ValueRef& value) {
        std::vector<Node*>& list = users[static_cast<size_t>(value.node->index)];
        if (list.empty() || list.back() != node.get()) list.push_back(node.get());
      });
    }
  }
  return users;
}

std::vector<bool> Graph::escaping(std::span<const ValueRef> outputs) const {
  std::vector<bool> escapes(nodes_.size(), false);
  for (const ValueRef& output : outputs) escapes[static_cast<size_t>(output.node->index)] = true;
  for (size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = *nodes_[i];
    // A host call may keep or return its arguments.
    bool is_host_call = is_op(node, OpKind::HostCall);
    if (!is_host_call && !(escapes[i] && is_op(node, OpKind::View))) continue;
    for (size_t k = 0; k < (is_host_call ? node.operands.size() : 1); ++k) {
      for_each_value(node.operands[k],
                     [&](const ValueRef& value) { escapes[static_cast<size_t>(value.node->index)] = true; });
    }
  }
  return escapes;
}

std::vector<int> Graph::retain(const std::function<bool(const Node&)>& keep, bool drop_inputs) {
  std::vector<bool> kept(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    bool is_input = nodes_[i]->kind == NodeKind::TensorInput || nodes_[i]->kind == NodeKind::ScalarInput;
    kept[i] = (is_input && !drop_inputs) || keep(*nodes_[i]);
  }
  std::vector<int> old_positions;
  std::vector<Node*> inputs;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!kept[static_cast<size_t>(inputs_[i]->index)]) continue;
    old_positions.push_back(static_cast<int>(i));
    inputs.push_back(inputs_[i]);
  }
  inputs_ = std::move(inputs);
  size_t count = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!kept[i]) continue;
    nodes_[i]->index = static_cast<int>(count);
    if (count != i) nodes_[count] = std::move(nodes_[i]);
    ++count;
  }
  nodes_.resize(count);
  host_calls_ = std::ranges::count_if(nodes_, [](const auto& node) { return is_made_once(*node); });
  return old_positions;
}

void Graph::replace_uses(ValueRef from, ValueRef to) {
  auto replace = [&](ValueRef& value) {
    if (value == from) value = to;
  };
  for (const auto& node : nodes_) {
    for (Operand& operand : node->operands) for_each_value(operand, replace);
  }
  for (ValueRef& output : outputs_) replace(output);
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  copy->dim_table_ = dim_table_;
  copy->watches_float_flags_ = watches_float_flags_;
  copy->keeps_histories_ = keeps_histories_;
  copy->host_calls_ = host_calls_;
  auto in_copy = [&](ValueRef& value) { value.node = copy->nodes_[static_cast<size_t>(value.node->index)].get(); };
  copy->nodes_.reserve(nodes_.size());
  for (const auto& node : nodes_) {
    auto twin = std::make_unique<Node>(*node);
    for (Operand& operand : twin->operands) for_each_value(operand, in_copy);
    copy->nodes_.push_back(std::move(twin));
  }
  for (const Node* input : inputs_) copy->inputs_.push_back(copy->nodes_[static_cast<size_t>(input->index)].get());
  copy->outputs_ = outputs_;
  copy->runtime_asserts_ = runtime_asserts_;
  for (ValueRef& output : copy->outputs_) in_copy(output);
  copy->names_ = names_;
  copy->name_counts_ = name_counts_;
  return copy;
}

std::string Graph::unique_name(const std::string& stem) {
  std::string base = identifier(stem);
  if (!is_reserved(base) && names_.insert(base).second) return base;
  int& count = name_counts_[base];
  while (true) {
    std::string name = base + "_" + std::to_string(++count);
    if (names_.insert(name).second) return name;
  }
}

void Graph::rename(Node& node, const std::string& name) {
  if (node.name == name) return;
  MD_ASSERT(names_.insert(name).second, "name in use: ", name);
  names_.erase(node.name);
  node.name = name;
}

}  // namespace md
