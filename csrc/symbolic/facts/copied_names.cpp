#include "symbolic/facts/copied_names.h"

#include "cpython/object_protocol.h"
#include "symbolic/attributes/attributes.h"

namespace md {

namespace {

PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

// functools.WRAPPER_ASSIGNMENTS of the versions that include __annotations__; later ones copy __annotate__, from which
// it is computed.
constexpr const char* kUpdated[] = {"__module__", "__name__", "__qualname__", "__doc__", "__annotations__"};

// The copied names depend on the version: read them from a wrapper of a function.
std::vector<Ref> names_in_wrapper(PyTypeObject* type) {
  Ref globals = check(PyDict_New());
  check_status(PyDict_SetItemString(globals, "__name__", Py_None));
  Ref code = check(reinterpret_cast<PyObject*>(PyCode_NewEmpty("", "stand_in", 1)));
  Ref function = check(PyFunction_New(code, globals));
  Ref wrapper = check(PyObject_CallOneArg(reinterpret_cast<PyObject*>(type), function));
  Ref dict = check(PyObject_GetAttrString(wrapper, "__dict__"));
  Ref keys = check(PyDict_Keys(dict));
  std::vector<Ref> names;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i)
    names.push_back(Ref::share(PyList_GET_ITEM(keys.get(), i)));
  return names;
}

const std::vector<Ref>& copied_by(PyTypeObject* type) {
  static const auto* by_property = new std::vector<Ref>{Ref::steal(interned("__doc__"))};
  static const auto* by_static = new std::vector<Ref>(names_in_wrapper(&PyStaticMethod_Type));
  static const auto* by_class = new std::vector<Ref>(names_in_wrapper(&PyClassMethod_Type));
  if (type == &PyProperty_Type) return *by_property;
  return type == &PyStaticMethod_Type ? *by_static : *by_class;
}

ValuePtr shown_now(Tracer& tracer, const ValuePtr& value, BorrowedRef name) {
  static PyObject* const kAnnotate = interned("__annotate__");
  auto* function = as<FunctionValue>(value);
  ValuePtr* stored = function->find(name);
  if (stored != nullptr) return *stored;
  if (PyUnicode_CompareWithASCIIString(name, "__annotations__") != 0) return nullptr;
  // Reading creates the dict, which both then share; it does not run __annotate__.
  return function->find(kAnnotate) != nullptr ? function->annotations : look_up(tracer, value, name).value;
}

}  // namespace

ShownNames names_to_copy(Tracer& tracer, PyTypeObject* wrapper, const ValuePtr& function) {
  ShownNames names;
  if (function->kind != ValueKind::Function) return names;
  for (const Ref& name : copied_by(wrapper)) names.emplace_back(name, shown_now(tracer, function, name.get()));
  return names;
}

ShownNames names_to_update(Tracer& tracer, const ValuePtr& callable) {
  ValuePtr value = callable;
  while (value->kind == ValueKind::BoundMethod || value->kind == ValueKind::PolicyFunction) {
    auto* method = as<BoundMethodValue>(value);
    ValuePtr inside = method != nullptr ? method->function : as<PolicyFunctionValue>(value)->function;
    value = inside;
  }
  ShownNames names;
  auto* function = as<FunctionValue>(value);
  if (function == nullptr) return names;
  for (const char* text : kUpdated) {
    Ref name = Ref::steal(interned(text));
    names.emplace_back(name, shown_now(tracer, value, name.get()));
  }
  if (!function->dict) return names;
  for (const DictValue::Entry& entry : function->dict->entries) names.emplace_back(entry.key, entry.value);
  return names;
}

Ref name_by_code(const FunctionValue& function, BorrowedRef name) {
  auto* code = reinterpret_cast<PyCodeObject*>(function.code.get());
  auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
  if (is("__name__")) return Ref::share(code->co_name);
  if (is("__qualname__")) return Ref::share(code->co_qualname);
  return is("__doc__") ? Ref::share(pv_code_doc(code)) : Ref();
}

}  // namespace md
