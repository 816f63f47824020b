#include "autograd/formula.h"

#include <array>
#include <cctype>
#include <optional>

#include "base/error.h"

namespace md {
namespace {

struct BinarySign {
  std::string_view text;
  const char* row;
  char number_sign;  // what it means between numbers; 0: nothing
};
// By precedence, weakest first; those of one level associate to the left.
constexpr BinarySign kComparisons[] = {{"==", "eq", '='}, {"!=", "ne", '!'}, {"<=", "le", 'l'},
                                       {">=", "ge", 'g'}, {"<", "lt", '<'},  {">", "gt", '>'}};
constexpr BinarySign kAlternatives[] = {{"|", "logical_or", 0}};
constexpr BinarySign kConjunctions[] = {{"&", "logical_and", 0}};
constexpr BinarySign kSums[] = {{"+", "add", '+'}, {"-", "sub", '-'}};
constexpr BinarySign kProducts[] = {{"*", "mul", '*'}, {"/", "div", '/'}};
constexpr std::array<std::span<const BinarySign>, 5> kLevels = {kComparisons, kAlternatives, kConjunctions, kSums,
                                                                kProducts};

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '.'; }

// The first of several ops of one name that has the parameters is the one that is meant.
class Parser {
 public:
  Parser(std::string_view text, const FormulaNames& names) : text_(text), names_(names) {}

  FormulaPtr parse() {
    FormulaPtr formula = choice();
    skip_spaces();
    if (at_ != text_.size()) fail("more than a formula");
    return formula;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    raise(ErrorKind::Internal, "derivative: ", what, " at column ", at_, " of \"", text_, "\"");
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool takes(std::string_view token) {
    skip_spaces();
    if (text_.substr(at_, token.size()) != token) return false;
    bool is_word = is_name_start(token[0]);
    if (is_word && at_ + token.size() < text_.size() && is_name_part(text_[at_ + token.size()])) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!takes(token)) fail(str_cat("no '", token, "'"));
  }

  static std::unique_ptr<Formula> make(Formula::Kind kind) {
    auto formula = std::make_unique<Formula>();
    formula->kind = kind;
    return formula;
  }
  static FormulaPtr constant(Arg value) {
    auto formula = make(Formula::Kind::Constant);
    formula->constant = std::move(value);
    return formula;
  }
  static FormulaPtr joined(Formula::Kind kind, FormulaPtr a, FormulaPtr b = nullptr) {
    auto formula = make(kind);
    formula->of.push_back(std::move(a));
    if (b) formula->of.push_back(std::move(b));
    return formula;
  }

  FormulaPtr choice() {
    FormulaPtr value = either();
    if (!takes("if")) return value;
    auto formula = make(Formula::Kind::Choice);
    formula->of.push_back(either());
    expect("else");
    formula->of.push_back(std::move(value));
    formula->of.push_back(choice());
    return formula;
  }
  FormulaPtr either() {
    FormulaPtr left = both();
    while (takes("or")) left = joined(Formula::Kind::Either, std::move(left), both());
    return left;
  }
  FormulaPtr both() {
    FormulaPtr left = negation();
    while (takes("and")) left = joined(Formula::Kind::Both, std::move(left), negation());
    return left;
  }
  FormulaPtr negation() {
    if (takes("not")) return joined(Formula::Kind::Not, negation());
    FormulaPtr value = binary(0);
    if (!takes("is")) return value;
    bool negated = takes("not");
    expect("None");
    FormulaPtr test = joined(Formula::Kind::IsNone, std::move(value));
    return negated ? joined(Formula::Kind::Not, std::move(test)) : std::move(test);
  }

  FormulaPtr binary(size_t level) {
    if (level == kLevels.size()) return unary();
    FormulaPtr left = binary(level + 1);
    while (const BinarySign* sign = takes_sign(kLevels[level])) {
      auto formula = make(Formula::Kind::Operator);
      formula->row = find_op(sign->row);
      formula->sign = sign->number_sign;
      formula->of.push_back(std::move(left));
      formula->of.push_back(binary(level + 1));
      left = std::move(formula);
    }
    return left;
  }
  const BinarySign* takes_sign(std::span<const BinarySign> signs) {
    for (const BinarySign& sign : signs)
      if (takes(sign.text)) return &sign;
    return nullptr;
  }

  FormulaPtr unary() {
    if (!takes("-")) return atom();
    FormulaPtr operand = unary();
    if (operand->kind == Formula::Kind::Constant) return constant(negative(std::get<Scalar>(operand->constant)));
    auto formula = make(Formula::Kind::Operator);
    formula->row = find_op("neg");
    formula->sign = '-';
    formula->of.push_back(std::move(operand));
    return formula;
  }
  static Scalar negative(const Scalar& number) {
    return number.is_float() ? Scalar(-number.as_double()) : Scalar(-number.as_int());
  }

  FormulaPtr atom() {
    if (takes("(")) {
      FormulaPtr inner = choice();
      expect(")");
      return inner;
    }
    if (takes("[")) return list();
    if (takes("'")) return string();
    if (takes("None")) return constant(std::monostate());
    if (takes("True")) return constant(Scalar(true));
    if (takes("False")) return constant(Scalar(false));
    skip_spaces();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
    std::string_view name = word();
    if (takes("(")) return call(name);
    auto formula = make(Formula::Kind::Name);
    formula->name = names_.find(name);
    return formula;
  }

  std::string_view word() {
    size_t start = at_;
    if (at_ == text_.size() || !is_name_start(text_[at_])) fail("no name");
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  FormulaPtr number() {
    size_t length = 0;
    std::string rest(text_.substr(at_));
    double value = std::stod(rest, &length);
    bool is_float = rest.substr(0, length).find_first_of(".e") != std::string::npos;
    at_ += length;
    return constant(is_float ? Scalar(value) : Scalar(static_cast<int64_t>(value)));
  }
  FormulaPtr string() {
    size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) fail("an open string");
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return constant(std::move(value));
  }
  FormulaPtr list() {
    auto formula = make(Formula::Kind::List);
    while (!takes("]")) {
      formula->of.push_back(choice());
      takes(",");
    }
    return formula;
  }

  FormulaPtr call(std::string_view name) {
    const RuleFunction* function = find_rule_function(name);
    const OpRow* row = function == nullptr ? find_op(name) : nullptr;
    if (function == nullptr && row == nullptr) fail(str_cat("no function ", name));
    auto formula = make(function != nullptr ? Formula::Kind::Call : Formula::Kind::RowCall);
    formula->function = function;
    formula->row = row;
    while (!takes(")")) {
      std::optional<std::string_view> keyword = row == nullptr ? std::nullopt : takes_keyword();
      int param = keyword ? row->schema.find(*keyword) : static_cast<int>(formula->of.size());
      if (row != nullptr && (param < 0 || param >= static_cast<int>(row->schema.params.size())))
        fail(str_cat("no such parameter of ", name));
      formula->params.push_back(param);
      formula->of.push_back(choice());
      takes(",");
    }
    if (function != nullptr && static_cast<int>(formula->of.size()) != function->arg_count)
      fail(str_cat("a wrong number of arguments of ", name));
    return formula;
  }
  std::optional<std::string_view> takes_keyword() {
    skip_spaces();
    size_t start = at_;
    if (at_ < text_.size() && is_name_start(text_[at_])) {
      std::string_view name = word();
      bool is_keyword = at_ + 1 < text_.size() && text_[at_] == '=' && text_[at_ + 1] != '=';
      if (is_keyword) {
        ++at_;
        return name;
      }
    }
    at_ = start;
    return std::nullopt;
  }

  std::string_view text_;
  const FormulaNames& names_;
  size_t at_ = 0;
};

int find_in(const std::vector<std::string>& names, std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<int>(i);
  return -1;
}

}  // namespace

FormulaNames::FormulaNames(const OpRow& row) : row_(row) {
  const Schema& schema = row.schema;
  if (schema.returns.size() == 1) {
    results_.push_back("result");
    gradients_.push_back("grad");
    return;
  }
  for (size_t i = 0; i < schema.returns.size(); ++i) {
    bool is_named = i < schema.return_names.size() && !schema.return_names[i].empty();
    std::string name = is_named ? schema.return_names[i] : std::to_string(i);
    results_.push_back(is_named ? name : "result_" + name);
    gradients_.push_back("grad_" + name);
  }
}

FormulaName FormulaNames::find(std::string_view name) const {
  if (name == "grads") return {FormulaName::Kind::Gradients, 0};
  if (int i = find_in(lets_, name); i >= 0) return {FormulaName::Kind::Let, i};
  if (int i = find_in(gradients_, name); i >= 0) return {FormulaName::Kind::Gradient, i};
  if (int i = row_.schema.find(name); i >= 0) return {FormulaName::Kind::Argument, i};
  if (int i = find_in(results_, name); i >= 0) return {FormulaName::Kind::Result, i};
  raise(ErrorKind::Internal, "derivative of ", row_.name, ": nothing is called ", name);
}

FormulaPtr parse_formula(std::string_view text, const FormulaNames& names) { return Parser(text, names).parse(); }

}  // namespace md
