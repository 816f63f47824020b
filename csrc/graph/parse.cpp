// Reads the text form described at the top of print.cpp. Checks every line: types against the shape rules.
#include <charconv>
#include <limits>

#include "base/error.h"
#include "graph/graph.h"
#include "graph/text.h"

namespace md {
namespace {

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  std::unique_ptr<Graph> run() {
    bool returned = false;
    while (skip_blank_lines()) {
      if (returned) fail("nothing may follow return");
      if (accept_word("return")) {
        parse_return();
        returned = true;
      } else {
        parse_node();
      }
      if (!at_line_end()) fail("unexpected text at the end of the line");
    }
    if (!returned) fail("a graph ends with return");
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) {
      ++column;
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      }
    }
    raise(ErrorKind::Value, "graph text, line ", line, ", column ", column, ": ", what);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\n'; }
  void skip_spaces() {
    while (peek() == ' ') ++at_;
  }
  bool at_line_end() {
    skip_spaces();
    return peek() == '\n';
  }
  bool skip_blank_lines() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size();
  }
  bool accept(char c) {
    skip_spaces();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }
  std::string word() {
    skip_spaces();
    size_t start = at_;
    while (is_word_char(peek())) ++at_;
    if (start == at_) fail("expected a name");
    return text_.substr(start, at_ - start);
  }
  // Overloads have a suffix: max.dim.
  std::string op_name() {
    std::string name = word();
    while (peek() == '.') {
      ++at_;
      name += "." + word();
    }
    return name;
  }
  bool accept_word(const std::string& expected) {
    skip_spaces();
    size_t start = at_;
    if (is_word_char(peek()) && word() == expected) return true;
    at_ = start;
    return false;
  }

  template <typename T = int64_t>
  T integer() {
    skip_spaces();
    T value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected an integer");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  Scalar number() {
    skip_spaces();
    size_t end = at_;
    while (end < text_.size() &&
           (is_word_char(text_[end]) || text_[end] == '.' || text_[end] == '-' || text_[end] == '+'))
      ++end;
    std::string token = text_.substr(at_, end - at_);
    if (token.find_first_of(".einf") == std::string::npos)
      return token.starts_with('-') ? Scalar(integer()) : Scalar::natural(integer<uint64_t>());
    double value = 0;
    auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error != std::errc() || stop != token.data() + token.size()) fail("expected a number");
    at_ = end;
    return Scalar(value);
  }

  std::string quoted() {
    expect('"');
    std::string text;
    while (peek() != '"') {
      if (peek() == '\n') fail("text without closing quote");
      char c = text_[at_++];
      if (c == '\\') {
        c = peek() == 'n' ? '\n' : peek();
        ++at_;
      }
      text += c;
    }
    ++at_;
    return text;
  }

  DimVec dims(char open, char close) {
    expect(open);
    DimVec dims;
    while (!accept(close)) {
      dims.push_back(integer());
      if (!accept(',') && peek() != close) fail("expected ',' or the closing bracket (symbolic sizes cannot be read)");
    }
    return dims;
  }

  ValueRef value() {
    expect('%');
    std::string name(word());
    auto found = nodes_.find(name);
    if (found == nodes_.end()) fail("%" + name + " is a value that is not defined before");
    Node* node = found->second;
    int64_t out = accept('.') ? integer() : 0;
    if (out < 0 || out >= static_cast<int64_t>(node->outs.size())) fail("the node has no such result");
    return {node, static_cast<int>(out)};
  }

  Operand operand() {
    skip_spaces();
    char c = peek();
    if (c == '%') return value();
    if (c == '[') return value_list();
    if (c == '(') return dims('(', ')');
    if (c == '"') return quoted();
    if (c == '-' || (c >= '0' && c <= '9')) return number();
    size_t start = at_;
    std::string name = word();
    if (name == "None") return std::monostate();
    if (name == "True" || name == "False") return Scalar(name == "True");
    if (name == "inf") return Scalar(std::numeric_limits<double>::infinity());
    if (name == "nan") return Scalar(std::numeric_limits<double>::quiet_NaN());
    for (int i = 0; i < kDTypeCount; ++i) {
      if (name == kDTypes[i].name) return static_cast<DType>(i);
    }
    at_ = start;
    fail("expected an operand");
  }

  std::vector<ValueRef> value_list() {
    expect('[');
    std::vector<ValueRef> list;
    while (!accept(']')) {
      list.push_back(value());
      if (!accept(',') && peek() != ']') fail("expected ',' or ']'");
    }
    return list;
  }

  ValueInfo info() {
    std::string name = word();
    for (Scalar::Kind kind : {Scalar::Kind::Bool, Scalar::Kind::Int, Scalar::Kind::Float}) {
      if (name == scalar_kind_name(kind)) return {.spec = {}, .is_scalar = true, .scalar_kind = kind};
    }
    for (int i = 0; i < kDTypeCount; ++i) {
      if (name != kDTypes[i].short_name) continue;
      ValueInfo info;
      info.spec.dtype = static_cast<DType>(i);
      info.spec.sizes = dims('[', ']');
      info.spec.strides = dims('[', ']');
      if (info.spec.sizes.size() != info.spec.strides.size()) fail("as many strides as sizes");
      for (Dim size : info.spec.sizes) {
        if (size.value() < 0) fail("a size is not negative");
      }
      info.spec.requires_grad = accept_word("grad");
      return info;
    }
    fail("expected a type");
  }

  void parse_node() {
    expect('%');
    std::string name = word();
    if (nodes_.contains(name)) fail("%" + name + " is defined twice");
    if (name.find(':') != std::string::npos) fail("a name is an identifier");
    expect('=');
    std::string what = op_name();
    Node* node = nullptr;
    if (what == "input" || what == "scalar" || what == "constant") {
      node = parse_leaf(what);
    } else {
      node = parse_op(what);
    }
    graph_->rename(*node, name);
    nodes_[name] = node;
  }

  Node* parse_leaf(const std::string& what) {
    std::string target = word();
    expect(':');
    ValueInfo type = info();
    if (type.is_scalar != (what == "scalar")) fail("a scalar has a scalar type, and nothing else has");
    if (what == "input") return graph_->add_tensor_input(target, type.spec);
    if (what == "scalar") return graph_->add_scalar_input(target, type.scalar_kind);
    Tensor tensor = Tensor::empty(type.spec);
    parse_elements(tensor);
    return graph_->add_constant(target, tensor);
  }

  void parse_elements(const Tensor& tensor) {
    expect('{');
    bool elided = text_.compare(at_, 3, "...") == 0;
    if (elided) at_ += 3;
    for (int64_t i = 0; i < tensor->numel(); ++i) {
      if (!elided && i > 0) expect(',');
      Operand element = elided ? Operand(Scalar(int64_t{0})) : operand();
      if (!std::holds_alternative<Scalar>(element)) fail("expected a number");
      set_element(tensor, i, std::get<Scalar>(element));
    }
    expect('}');
  }

  Node* parse_op(const std::string& name) {
    const OpRow* op = find_op(name);
    if (op == nullptr) fail("no op is called " + name);
    std::vector<Operand> operands = parse_operands(*op);
    expect(':');
    std::vector<ValueInfo> types;
    if (!at_line_end()) {
      do types.push_back(info());
      while (accept(','));
    }
    Node* node = add_op(*op, std::move(operands));
    if (types.size() != node->outs.size()) fail(name + " has another number of results");
    for (size_t i = 0; i < types.size(); ++i) {
      std::string expected = node->outs[i].spec.str();
      if (types[i].is_scalar || types[i].spec.str() != expected)
        fail(str_cat("the shape rule of ", name, " gives ", expected));
      node->outs[i].spec.requires_grad = types[i].spec.requires_grad;
    }
    if (accept_word("method")) node->form = CallForm::Method;
    if (accept_word("operator")) node->form = CallForm::Operator;
    return node;
  }

  std::vector<Operand> parse_operands(const OpRow& op) {
    expect('(');
    std::vector<Operand> operands;
    const std::vector<Param>& params = op.schema.params;
    while (!accept(')')) {
      if (operands.size() == params.size()) fail("too many operands");
      const Param& param = params[operands.size()];
      if (param.keyword_only) {
        if (!accept_word(param.name)) fail("expected " + param.name + "=");
        expect('=');
      }
      operands.push_back(operand());
      if (!accept(',') && peek() != ')') fail("expected ',' or ')'");
    }
    return operands;
  }

  Node* add_op(const OpRow& op, std::vector<Operand> operands) {
    try {
      return graph_->add_op(op, std::move(operands));
    } catch (const Error& error) {
      fail(error.what());
    }
  }

  void parse_return() {
    std::vector<ValueRef> outputs;
    if (!at_line_end()) {
      do outputs.push_back(value());
      while (accept(','));
    }
    graph_->set_outputs(std::move(outputs));
  }

  const std::string& text_;
  size_t at_ = 0;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::unordered_map<std::string, Node*> nodes_;
};

}  // namespace

std::unique_ptr<Graph> parse_graph(const std::string& text) { return Parser(text).run(); }

}  // namespace md
