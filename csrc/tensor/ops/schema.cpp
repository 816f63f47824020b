#include "tensor/ops/schema.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/error.h"

namespace md {
namespace {

struct TypeWord {
  const char* word;
  ParamType type;
};
constexpr TypeWord kTypeWords[] = {
    {"Tensor", ParamType::Tensor}, {"Scalar", ParamType::Scalar},
    {"Number", ParamType::Number}, {"int", ParamType::Int},
    {"float", ParamType::Float},   {"bool", ParamType::Bool},
    {"dtype", ParamType::Dtype},   {"str", ParamType::Str},
    {"device", ParamType::Device}, {"memory_format", ParamType::MemoryFormat},
    {"any", ParamType::Any},
};

bool promotes(const Param& param) {
  for (std::string_view fixed : {"condition", "mask", "index", "indices"}) {
    if (param.name == fixed) return false;
  }
  return param.type == ParamType::Tensor || param.type == ParamType::TensorList || param.type == ParamType::Number;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema schema;
    schema.text = std::string(text_);
    schema.name = qualified_name();
    expect('(');
    parameters(schema);
    skip_space();
    if (!accept("->")) fail("'->'");
    returns(schema);
    skip_space();
    if (at_ != text_.size()) fail("the end");
    return schema;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    std::string found = at_ < text_.size() ? str_cat("'", text_[at_], "'") : "the end";
    raise(ErrorKind::Value, "schema \"", text_, "\": expected ", expected, " at character ", at_ + 1, ", found ",
          found);
  }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(char token) {
    skip_space();
    if (!accept({&token, 1})) fail(str_cat("'", token, "'"));
  }

  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  std::string word(std::string_view what) {
    skip_space();
    size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (begin == at_ || std::isdigit(static_cast<unsigned char>(text_[begin]))) {
      at_ = begin;
      fail(what);
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  // "add", "max.dim", "mylib::numpy_sin"
  std::string qualified_name() {
    std::string name = word("a name");
    for (;;) {
      if (accept("::")) {
        name.append("::").append(word("a name"));
      } else if (accept(".")) {
        name.append(".").append(word("a name"));
      } else {
        return name;
      }
    }
  }

  ParamType type_word() {
    skip_space();
    size_t begin = at_;
    std::string found = word("a type");
    if (found == "SymInt") found = "int";
    for (const TypeWord& row : kTypeWords) {
      if (found == row.word) return row.type;
    }
    at_ = begin;
    fail("a type");
  }

  // The type, with "(a!)", "[]", "[*]" and "?".
  void type(Param& param) {
    param.type = type_word();
    if (accept("(")) {
      word("an alias name");
      param.mutated = accept("!");
      expect(')');
    }
    if (accept("[")) {
      param.variadic_ints = accept("*");
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
      expect(']');
      if (param.type == ParamType::Tensor && !param.variadic_ints) {
        param.type = ParamType::TensorList;
      } else if (param.type == ParamType::Int) {
        param.type = ParamType::IntList;
      } else {
        --at_;
        fail("a type that has lists");
      }
    }
    param.optional = accept("?");
  }

  std::optional<Scalar> number() {
    size_t begin = at_;
    size_t end = begin;
    while (end < text_.size() && (is_word(text_[end]) || text_[end] == '-' || text_[end] == '+' || text_[end] == '.'))
      ++end;
    std::string_view token = text_.substr(begin, end - begin);
    int64_t whole;
    auto int_result = std::from_chars(token.data(), token.data() + token.size(), whole);
    if (int_result.ec == std::errc() && int_result.ptr == token.data() + token.size()) {
      at_ = end;
      return Scalar(whole);
    }
    double real;
    auto float_result = std::from_chars(token.data(), token.data() + token.size(), real);
    if (float_result.ec == std::errc() && float_result.ptr == token.data() + token.size()) {
      at_ = end;
      return Scalar(real);
    }
    return std::nullopt;
  }

  Arg int_list() {
    DimVec dims;
    skip_space();
    while (!accept("]")) {
      std::optional<Scalar> item = number();
      if (!item || item->is_float()) fail("an integer");
      dims.push_back(item->as_int());
      skip_space();
      accept(",");
      skip_space();
    }
    return dims;
  }

  std::string quoted(char quote) {
    size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a closing quote");
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }

  Arg default_value(const Param& param) {
    skip_space();
    if (accept("None")) return std::monostate();
    if (accept("True")) return Scalar(true);
    if (accept("False")) return Scalar(false);
    if (accept("[")) return int_list();
    for (char quote : {'\'', '"'}) {
      if (accept({&quote, 1})) return quoted(quote);
    }
    if (param.type == ParamType::Dtype) {
      size_t begin = at_;
      std::string name = word("a dtype");
      for (int i = 0; i < kDTypeCount; ++i) {
        if (name == kDTypes[i].name) return static_cast<DType>(i);
      }
      at_ = begin;
      fail("a dtype");
    }
    std::optional<Scalar> value = number();
    if (!value) fail("a default value");
    if (param.type == ParamType::Float) return Scalar(value->as_double());
    if (param.type == ParamType::IntList) return DimVec{Dim(value->as_int())};
    return *value;
  }

  void parameters(Schema& schema) {
    skip_space();
    if (accept(")")) return;
    bool keyword_only = false;
    for (;;) {
      skip_space();
      if (accept("*")) {
        keyword_only = true;
      } else {
        schema.params.push_back(parameter(schema, keyword_only));
      }
      skip_space();
      if (accept(")")) return;
      if (!accept(",")) fail("',' or ')'");
    }
  }

  Param parameter(const Schema& schema, bool keyword_only) {
    Param param;
    param.keyword_only = keyword_only;
    type(param);
    skip_space();
    size_t begin = at_;
    param.name = word("a parameter name");
    if (schema.find(param.name) >= 0) {
      at_ = begin;
      fail("a name that is not taken");
    }
    skip_space();
    if (accept("=")) {
      param.default_value = default_value(param);
    } else if (!keyword_only && !schema.params.empty() && schema.params.back().default_value) {
      fail("'=', as the parameter before has a default");
    }
    param.promotes = promotes(param);
    return param;
  }

  void result(Schema& schema) {
    Param param;
    type(param);
    if (param.type != ParamType::Tensor && param.type != ParamType::TensorList) fail("Tensor or Tensor[] before");
    schema.returns.push_back(param.type);
    skip_space();
    bool named = at_ < text_.size() && is_word(text_[at_]);
    schema.return_names.push_back(named ? word("a name") : "");
  }

  void returns(Schema& schema) {
    skip_space();
    if (!accept("(")) return result(schema);
    skip_space();
    if (accept(")")) return;
    for (;;) {
      result(schema);
      skip_space();
      if (accept(")")) return;
      if (!accept(",")) fail("',' or ')'");
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

int Schema::positional_count() const {
  return static_cast<int>(std::count_if(params.begin(), params.end(), [](const Param& p) { return !p.keyword_only; }));
}

int Schema::find(std::string_view param) const {
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].name == param) return static_cast<int>(i);
  }
  return -1;
}

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

}  // namespace md
