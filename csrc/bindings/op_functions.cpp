#include "bindings/op_functions.h"

#include <array>
#include <string>
#include <utility>

#include "bindings/op_dispatch.h"
#include "bindings/tensor_object.h"
#include "frontends/op_callables.h"
#include "tensor/op_row.h"

namespace md {
namespace {

using FastCall = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

constexpr size_t kMostRows = 512;
const OpRow* static_rows[kMostRows];

// A function's m_self is null; a method's self is the tensor.
template <size_t kRow>
PyObject* call_row(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return dispatch(*static_rows[kRow], self, args, arg_count, kw_names);
}

template <size_t... kRows>
constexpr std::array<FastCall, sizeof...(kRows)> make_trampolines(std::index_sequence<kRows...>) {
  return {call_row<kRows>...};
}
constexpr auto kTrampolines = make_trampolines(std::make_index_sequence<kMostRows>{});

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

// The form that inspect.signature reads: "add(input, other, *, alpha=1)". Overloaded ops have no single signature.
std::string text_signature(const OpRow& row, bool as_method) {
  std::string text = str_cat(python_name(row), "(");
  const char* separator = "";
  bool star = false;
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
  return text + ")\n--\n\n";
}

std::string doc_of(const std::vector<const OpRow*>& overloads, bool as_method) {
  std::string doc = overloads.size() == 1 ? text_signature(*overloads[0], as_method) : "";
  for (const OpRow* row : overloads) doc += row->schema.text + "\n";
  if (!overloads[0]->doc.empty()) doc += "\n" + overloads[0]->doc;
  return doc;
}

// One Python name of the table and the first of its rows: the one that a callable stands for.
struct NamedOp {
  std::string name;
  size_t index;
  uint8_t faces;  // of all its rows
};

std::vector<NamedOp> named_ops() {
  std::vector<NamedOp> ops;
  std::span<const OpRow* const> rows = op_rows();
  MD_ASSERT(rows.size() <= kMostRows, "more static rows than trampolines");
  for (size_t i = 0; i < rows.size(); ++i) {
    static_rows[i] = rows[i];
    std::vector<const OpRow*> overloads = op_overloads(python_name(*rows[i]));
    if (overloads[0] != rows[i]) continue;
    uint8_t faces = 0;
    for (const OpRow* row : overloads) faces |= row->faces;
    ops.push_back({std::string(python_name(*rows[i])), i, faces});
  }
  return ops;
}

// Names and docs live as long as the process: functions point to them.
const char* keep(const std::string& text) { return (new std::string(text))->c_str(); }

PyMethodDef method_def(const NamedOp& op, bool as_method) {
  return {keep(op.name), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(kTrampolines[op.index])),
          METH_FASTCALL | METH_KEYWORDS, keep(doc_of(op_overloads(op.name), as_method))};
}

Ref make_functions(uint8_t face, const char* module_name) {
  Ref functions = check(PyDict_New());
  Ref module = check(PyUnicode_FromString(module_name));
  for (const NamedOp& op : named_ops()) {
    if (!(op.faces & face)) continue;
    auto* def = new PyMethodDef(method_def(op, false));
    Ref function = check(PyCFunction_NewEx(def, nullptr, module));
    register_op_callable(function, static_rows[op.index]);
    check_status(PyDict_SetItemString(functions, def->ml_name, function));
  }
  return functions;
}

}  // namespace

std::vector<PyMethodDef> op_method_defs() {
  std::vector<PyMethodDef> defs;
  for (const NamedOp& op : named_ops()) {
    if (op.faces & kMethod) defs.push_back(method_def(op, true));
  }
  return defs;
}

Ref make_op_functions() { return make_functions(kFunction, "minidynamo"); }
Ref make_functional_functions() { return make_functions(kFunctional, "minidynamo.nn.functional"); }

void register_op_methods() {
  for (const NamedOp& op : named_ops()) {
    if (!(op.faces & kMethod)) continue;
    Ref descriptor = check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&tensor_type), op.name.c_str()));
    register_op_callable(descriptor, static_rows[op.index]);
  }
}

}  // namespace md
