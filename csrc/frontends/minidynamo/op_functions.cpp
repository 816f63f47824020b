#include "frontends/minidynamo/op_functions.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "frontends/minidynamo/family.h"
#include "frontends/minidynamo/fast_call.h"
#include "frontends/minidynamo/op_dispatch.h"
#include "frontends/minidynamo/tensor_object.h"
#include "tensor/ops/op_row.h"

namespace md {
namespace {

constexpr size_t kMostRows = 512;
const OpRow* static_rows[kMostRows];

// A function's m_self is null; a method's self is the tensor.
template <size_t kRow>
PyObject* call_row(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return dispatch(*static_rows[kRow], self, args, arg_count, kw_names);
}

template <size_t kRow>
PyObject* call_row_in_place(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return dispatch_in_place(*static_rows[kRow], self, args, arg_count, kw_names);
}

template <size_t... kRows>
constexpr std::array<FastCall, sizeof...(kRows)> make_trampolines(std::index_sequence<kRows...>) {
  return {call_row<kRows>...};
}
template <size_t... kRows>
constexpr std::array<FastCall, sizeof...(kRows)> make_in_place_trampolines(std::index_sequence<kRows...>) {
  return {call_row_in_place<kRows>...};
}
constexpr auto kTrampolines = make_trampolines(std::make_index_sequence<kMostRows>{});
constexpr auto kInPlaceTrampolines = make_in_place_trampolines(std::make_index_sequence<kMostRows>{});

std::string default_text(const Arg& value) {
  struct Text {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(const Scalar& scalar) const { return scalar.str(); }
    std::string operator()(const DimVec& dims) const { return str(dims.span()); }
    std::string operator()(const std::string& text) const { return "'" + text + "'"; }
    std::string operator()(const Tensor&) const { return "None"; }
    std::string operator()(const std::vector<Tensor>&) const { return "()"; }
    std::string operator()(DType) const { return "None"; }
  };
  return std::visit(Text{}, value);
}

// The signature parsed by inspect.signature: "add(input, other, *, alpha=1)". Overloaded ops have no single one.
std::string text_signature(const std::string& name, const OpRow& row, bool as_method) {
  std::string text = name + "(";
  const char* separator = "";
  bool star = false;
  bool with_out = !as_method && row.takes_out();
  for (size_t i = 0; i < row.schema.params.size(); ++i) {
    const Param& param = row.schema.params[i];
    if (param.keyword_only && !star) {
      text += str_cat(separator, "*");
      separator = ", ";
      star = true;
    }
    text += str_cat(separator, as_method && i == 0 ? "$self" : param.name);
    if (param.default_value) text += str_cat("=", default_text(*param.default_value));
    separator = ", ";
  }
  if (!as_method && row.takes_generator()) {
    text += str_cat(separator, star ? "" : "*, ", "generator=None");
    separator = ", ";
    star = true;
  }
  if (with_out) text += str_cat(separator, star ? "" : "*, ", "out=None");
  return text + ")\n--\n\n";
}

// Other names that torch has for the same functions and methods.
struct OpAlias {
  const char* alias;
  const char* op;
};
constexpr OpAlias kAliases[] = {
    {"absolute", "abs"},  {"arccos", "acos"},        {"arcsin", "asin"},        {"arctan", "atan"},
    {"arccosh", "acosh"}, {"arcsinh", "asinh"},      {"arctanh", "atanh"},      {"arctan2", "atan2"},
    {"clip", "clamp"},    {"concat", "cat"},         {"concatenate", "cat"},    {"divide", "div"},
    {"fix", "trunc"},     {"greater", "gt"},         {"greater_equal", "ge"},   {"less", "lt"},
    {"less_equal", "le"}, {"multiply", "mul"},       {"negative", "neg"},       {"not_equal", "ne"},
    {"subtract", "sub"},  {"swapaxes", "transpose"}, {"swapdims", "transpose"}, {"true_divide", "div"},
};

// A Python name in the table and the first of its rows, which the callable stands for.
struct NamedOp {
  std::string name;
  size_t index;      // of its first row
  uint8_t variants;  // of all its rows
};

std::vector<NamedOp> named_ops() {
  std::vector<NamedOp> ops;
  std::span<const OpRow* const> rows = op_rows();
  MD_ASSERT(rows.size() <= kMostRows, "more static rows than trampolines");
  for (size_t i = 0; i < rows.size(); ++i) {
    static_rows[i] = rows[i];
    std::vector<const OpRow*> overloads = op_overloads(python_name(*rows[i]));
    if (overloads[0] != rows[i]) continue;
    uint8_t variants = 0;
    for (const OpRow* row : overloads) variants |= row->variants;
    ops.push_back({std::string(python_name(*rows[i])), i, variants});
  }
  for (const OpAlias& alias : kAliases) {
    auto op = std::find_if(ops.begin(), ops.end(), [&](const NamedOp& named) { return named.name == alias.op; });
    MD_ASSERT(op != ops.end(), alias.op);
    NamedOp named = *op;
    named.name = alias.alias;
    ops.push_back(named);
  }
  return ops;
}

std::string doc_of(const NamedOp& op, bool as_method) {
  std::vector<const OpRow*> overloads = op_overloads(python_name(*static_rows[op.index]));
  std::string doc = overloads.size() == 1
                        ? text_signature(op.name, *overloads[0], as_method)
                        : op.name + (as_method ? "($self, /, *args" : "(*args") + ", **kwargs)\n--\n\n";
  for (const OpRow* row : overloads) doc += row->schema.text + "\n";
  if (!overloads[0]->doc.empty()) doc += "\n" + overloads[0]->doc;
  return doc;
}

// Names and docs live as long as the process: functions point to them.
const char* keep(const std::string& text) { return (new std::string(text))->c_str(); }

PyMethodDef method_def(const NamedOp& op, bool as_method) {
  return fast_method(keep(op.name), kTrampolines[op.index], keep(doc_of(op, as_method)));
}

// The first row has an in-place variant only if all rows have; otherwise the other rows are tried in turn.
PyMethodDef in_place_def(const NamedOp& op) {
  std::string name = op.name + "_";
  std::vector<const OpRow*> overloads = op_overloads(python_name(*static_rows[op.index]));
  std::string doc =
      overloads.size() == 1 ? text_signature(name, *overloads[0], true) : name + "($self, /, *args, **kwargs)\n--\n\n";
  doc += str_cat("The in-place form of ", op.name, ": the result is written to self, which is returned.");
  return fast_method(keep(name), kInPlaceTrampolines[op.index], keep(doc));
}

template <typename Selected>
Ref make_functions(Selected selected, const char* module_name) {
  Ref functions = check(PyDict_New());
  Ref module = check(PyUnicode_FromString(module_name));
  for (const NamedOp& op : named_ops()) {
    if (!selected(op.variants)) continue;
    auto* def = new PyMethodDef(method_def(op, false));
    Ref function = check(PyCFunction_NewEx(def, nullptr, module));
    add_own_callable(function,
                     {.kind = TensorCallableKind::Op, .row = static_rows[op.index], .form = CallForm::Function});
    check_status(PyDict_SetItemString(functions, def->ml_name, function));
  }
  return functions;
}

}  // namespace

std::vector<PyMethodDef> op_method_defs() {
  std::vector<PyMethodDef> defs;
  for (const NamedOp& op : named_ops()) {
    if (op.variants & kMethod) defs.push_back(method_def(op, true));
    if (op.variants & kInPlace) defs.push_back(in_place_def(op));
  }
  return defs;
}

Ref make_op_functions() {
  return make_functions([](uint8_t variants) { return (variants & kFunction) != 0; }, "minidynamo");
}
Ref make_functional_functions() {
  return make_functions([](uint8_t variants) { return (variants & kFunctional) != 0; }, "minidynamo.nn.functional");
}
Ref make_prims_functions() {
  return make_functions([](uint8_t variants) { return variants == 0; }, "minidynamo.ops.prims");
}

void add_op_methods() {
  PyObject* type = reinterpret_cast<PyObject*>(&tensor_type);
  auto method = [&](const std::string& name) { return check(PyObject_GetAttrString(type, name.c_str())); };
  for (const NamedOp& op : named_ops()) {
    const OpRow* row = static_rows[op.index];
    if (op.variants & kMethod) add_own_callable(method(op.name), {.kind = TensorCallableKind::Op, .row = row});
    if (op.variants & kInPlace)
      add_own_callable(method(op.name + "_"), {.kind = TensorCallableKind::InPlaceOp, .row = row});
  }
}

}  // namespace md
