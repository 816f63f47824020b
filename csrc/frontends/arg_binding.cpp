#include "frontends/arg_binding.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "cpython/text.h"

namespace md {
namespace {

// NumPy's names for parameters, which torch accepts as well.
struct ParamAlias {
  std::string_view alias;
  std::string_view name;
};
constexpr ParamAlias kParamAliases[] = {
    {"axis", "dim"}, {"axes", "dims"}, {"keepdims", "keepdim"}, {"input", "self"}, {"self", "input"}};

int find_param(const Schema& schema, std::string_view name) {
  int found = schema.find(name);
  if (found >= 0) return found;
  for (const ParamAlias& alias : kParamAliases) {
    if (alias.alias == name && (found = schema.find(alias.name)) >= 0) return found;
  }
  return -1;
}

// Fills `bound` or fails, with the reason in `why` if requested: overloads are tried without building messages.
class Binder {
 public:
  Binder(const Schema& schema, std::string* why) : schema_(schema), why_(why) {
    bound.value_of_param.assign(schema.params.size(), BoundCall::kDefault);
  }

  bool bind(const std::vector<bool>& is_int, BorrowedRef kw_names) {
    return bind_positional(is_int) && bind_keywords(static_cast<int>(is_int.size()), kw_names) && has_all();
  }

  BoundCall bound;

 private:
  template <typename... Parts>
  bool fail(const Parts&... parts) {
    if (why_ != nullptr) *why_ = str_cat(schema_.name.substr(0, schema_.name.find('.')), "() ", parts...);
    return false;
  }

  bool bind_positional(const std::vector<bool>& is_int) {
    int given = static_cast<int>(is_int.size());
    int takes = schema_.positional_count();
    int value = 0;
    for (int i = 0; i < takes && value < given; ++i) {
      bound.value_of_param[i] = value;
      int first = value++;
      if (!schema_.params[i].variadic_ints || !is_int[first]) continue;
      while (value < given && is_int[value]) ++value;
      bound.variadic_count = value - first;
    }
    if (value == given) return true;
    return fail("takes ", takes, " positional argument", takes == 1 ? "" : "s", " but ", given,
                given == 1 ? " was" : " were", " given");
  }

  bool bind_keywords(int positional, BorrowedRef kw_names) {
    Py_ssize_t count = kw_names ? PyTuple_GET_SIZE(kw_names.get()) : 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
      BorrowedRef name = PyTuple_GET_ITEM(kw_names.get(), i);
      std::string_view key = text_view(name);
      int param = find_param(schema_, key);
      if (param < 0) return fail("got an unexpected keyword argument '", text_of(name), "'");
      if (bound.value_of_param[param] != BoundCall::kDefault)
        return fail("got multiple values for argument '", key, "'");
      bound.value_of_param[param] = positional + static_cast<int>(i);
    }
    return true;
  }

  bool has_all() {
    std::string missing;
    int count = 0;
    for (size_t i = 0; i < schema_.params.size(); ++i) {
      const Param& param = schema_.params[i];
      if (bound.value_of_param[i] != BoundCall::kDefault || param.default_value) continue;
      if (why_ == nullptr) return false;
      missing += str_cat(count++ == 0 ? "'" : ", '", param.name, "'");
    }
    return count == 0 || fail("missing ", count, " required argument", count == 1 ? "" : "s", ": ", missing);
  }

  const Schema& schema_;
  std::string* why_;
};

const char* form_words(ValueForm form) {
  switch (form) {
    case ValueForm::None:
      return "None";
    case ValueForm::Tensor:
      return "Tensor";
    case ValueForm::TensorList:
      return "tuple of Tensors";
    case ValueForm::Bool:
      return "bool";
    case ValueForm::Int:
      return "int";
    case ValueForm::Float:
      return "float";
    case ValueForm::Complex:
      return "complex";
    case ValueForm::IntList:
      return "tuple of ints";
    case ValueForm::Dtype:
      return "dtype";
    case ValueForm::Str:
      return "str";
    case ValueForm::Device:
      return "device";
    case ValueForm::MemoryFormat:
      return "memory_format";
    case ValueForm::Other:
      break;
  }
  return "object";
}

[[noreturn]] void raise_no_overload(const std::vector<const OpRow*>& rows, std::span<const ValueForm> forms) {
  std::string got, expected;
  for (ValueForm form : forms) got += str_cat(got.empty() ? "" : ", ", form_words(form));
  for (const OpRow* row : rows) expected += str_cat("\n * ", row->schema.text);
  raise(ErrorKind::Type, python_name(*rows[0]), "() received an invalid combination of arguments - got (", got,
        "), but expected one of:", expected);
}

// Cached per row; recomputed if rows were added since, which may shadow some of its entries.
struct Overloads {
  std::vector<const OpRow*> rows;
  size_t table_size = 0;
};

bool has_operand(const OpRow& row, std::span<const ValueForm> forms) {
  return !row.has(kNeedsTensor) || std::ranges::find(forms, ValueForm::Tensor) != forms.end();
}

// Which values a parameter takes: a tensor without dims stands for a number only where no other overload takes it.
enum class TensorAs { Tensor, Number };

bool forms_fit(const OpRow& row, const BoundCall& call, std::span<const ValueForm> forms, TensorAs meaning) {
  const Schema& schema = row.schema;
  for (size_t i = 0; i < schema.params.size(); ++i) {
    int value = call.value_of_param[i];
    if (value == BoundCall::kDefault || (schema.params[i].variadic_ints && call.variadic_count > 0)) continue;
    if (meaning == TensorAs::Number && forms[value] == ValueForm::Tensor && schema.params[i].type == ParamType::Scalar)
      continue;
    bool takes_it = forms[value] == ValueForm::Complex ? takes_complex_number(row, schema.params[i])
                                                       : accepts(schema.params[i], forms[value]);
    if (!takes_it) return false;
  }
  return true;
}

}  // namespace

BoundCall bind_call(const Schema& schema, const std::vector<bool>& positional_is_int, BorrowedRef kw_names) {
  std::string why;
  Binder binder(schema, &why);
  if (!binder.bind(positional_is_int, kw_names)) throw Error(ErrorKind::Type, why);
  return std::move(binder.bound);
}

const std::vector<const OpRow*>& overloads_of(const OpRow& row) {
  // Requires the GIL; never destroyed.
  static auto* known = new std::unordered_map<const OpRow*, Overloads>;
  Overloads& overloads = (*known)[&row];
  size_t table_size = op_rows().size();
  if (overloads.table_size != table_size) overloads = {op_overloads(python_name(row)), table_size};
  return overloads.rows;
}

bool takes_complex_number(const OpRow& row, const Param& param) {
  return row.has(kTakesComplex) && param.type == ParamType::Number;
}

bool accepts(const Param& param, ValueForm form) {
  bool number = form == ValueForm::Int || form == ValueForm::Float || form == ValueForm::Bool;
  if (form == ValueForm::None) {
    return param.optional || param.type == ParamType::Any || param.type == ParamType::Device;
  }
  switch (param.type) {
    case ParamType::Tensor:
      return form == ValueForm::Tensor;
    case ParamType::TensorList:
      return form == ValueForm::TensorList;
    case ParamType::Scalar:
      return number;
    case ParamType::Number:
      return number || form == ValueForm::Tensor;
    case ParamType::Int:
      return form == ValueForm::Int;
    case ParamType::IntList:
      return form == ValueForm::IntList || form == ValueForm::Int;
    case ParamType::Float:
      return form == ValueForm::Float || form == ValueForm::Int;
    case ParamType::Bool:
      return form == ValueForm::Bool;
    case ParamType::Dtype:
      return form == ValueForm::Dtype;
    case ParamType::Str:
      return form == ValueForm::Str;
    case ParamType::Device:
      return form == ValueForm::Str || form == ValueForm::Device;
    case ParamType::MemoryFormat:
      return form == ValueForm::MemoryFormat;
    case ParamType::Any:
      return true;
  }
  return false;
}

BoundOp bind_overload(const OpRow& row, std::span<const ValueForm> forms, BorrowedRef kw_names) {
  size_t keywords = kw_names ? static_cast<size_t>(PyTuple_GET_SIZE(kw_names.get())) : 0;
  std::vector<bool> positional_is_int;
  for (ValueForm form : forms.first(forms.size() - keywords)) positional_is_int.push_back(form == ValueForm::Int);
  const std::vector<const OpRow*>& rows = overloads_of(row);
  if (rows.size() <= 1) {
    BoundCall bound = bind_call(row.schema, positional_is_int, kw_names);
    if (!has_operand(row, forms)) raise_no_overload({&row}, forms);
    return {&row, std::move(bound)};
  }
  for (TensorAs meaning : {TensorAs::Tensor, TensorAs::Number}) {
    for (const OpRow* candidate : rows) {
      Binder binder(candidate->schema, nullptr);
      bool fits = binder.bind(positional_is_int, kw_names) && forms_fit(*candidate, binder.bound, forms, meaning);
      if (fits && has_operand(*candidate, forms)) return {candidate, std::move(binder.bound)};
    }
  }
  raise_no_overload(rows, forms);
}

}  // namespace md
