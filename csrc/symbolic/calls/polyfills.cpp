// Functions implemented in C that are inlined as Python functions instead (minidynamo._dynamo._polyfills).
#include "symbolic/calls/polyfills.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/tracer.h"
#include "symbolic/values/number_types.h"

#include <algorithm>

namespace md {

namespace {

struct Polyfill {
  Ref function;
  std::string parameters;
};

std::unordered_map<PyObject*, Polyfill>& polyfills() {
  static auto* table = new std::unordered_map<PyObject*, Polyfill>();  // never freed
  return *table;
}

// By code object of a generator, kept alive by its polyfill: the type that the generator presents itself as.
std::unordered_map<PyObject*, PyTypeObject*>& stood_for() {
  static auto* table = new std::unordered_map<PyObject*, PyTypeObject*>();
  return *table;
}

bool is_generator_code(BorrowedRef code) {
  return PyCode_Check(code.get()) && (reinterpret_cast<PyCodeObject*>(code.get())->co_flags & CO_GENERATOR) != 0;
}

// The original type's __next__ is handled as that of a generator.
void add_stand_in(BorrowedRef code, BorrowedRef type) {
  static PyObject* const kNext = PyUnicode_InternFromString("__next__");
  auto* original = reinterpret_cast<PyTypeObject*>(Py_NewRef(type.get()));
  stood_for()[code] = original;
  register_call(_PyType_Lookup(original, kNext), find_call(_PyType_Lookup(&PyGen_Type, kNext)));
}

bool is_number(const ValuePtr& value) { return is_tensor(value) || is_real_number_type(type_of(value)); }

bool is_int(const ValuePtr& value) { return type_of(value) == &PyLong_Type; }

bool is_not_negative(Tracer& tracer, const ValuePtr& value) {
  return is_int(value) && int_of(tracer, value).value_or(-1) >= 0;
}

bool is_iterable(const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  return type != nullptr && type->tp_iter != nullptr;
}

// Of those that + joins as operator.concat() does.
bool is_plain_sequence(const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  return type == &PyList_Type || type == &PyTuple_Type || type == &PyUnicode_Type || type == &PyBytes_Type;
}

// Returns true if the original accepts the value without an error; the letters are those of register_polyfill.
bool fits(Tracer& tracer, char parameter, const ValuePtr& value) {
  switch (parameter) {
    case 'I':
      return is_iterable(value);
    case 'N':
      return is_not_negative(tracer, value);
    case 'n':
      return type_of(value) == Py_TYPE(Py_None) || is_not_negative(tracer, value);
    case 'p':
      return type_of(value) == Py_TYPE(Py_None) || (is_int(value) && int_of(tracer, value).value_or(0) > 0);
    case 'Z':
      return is_int(value);
    case 'V':
      return is_number(value);
    case 'S':
      return is_tensor(value) || is_plain_sequence(value);
    default:
      return true;
  }
}

char keyword_parameter(BorrowedRef name) {
  static constexpr std::pair<const char*, char> kKeywords[] = {{"key", 'O'},       {"initial", 'O'}, {"func", 'O'},
                                                               {"fillvalue", 'O'}, {"start", 'V'},   {"step", 'V'},
                                                               {"repeat", 'N'}};
  for (const auto& [known, parameter] : kKeywords)
    if (PyUnicode_CompareWithASCIIString(name, known) == 0) return parameter;
  return '-';
}

}  // namespace

void register_polyfill(BorrowedRef callable, BorrowedRef function, const std::string& parameters, BorrowedRef inner) {
  Py_INCREF(callable.get());
  polyfills()[callable] = {Ref::share(function), parameters};
  PyObject* code = PyFunction_GET_CODE(function.get());
  if (is_generator_code(code)) {
    PyObject* type = callable;
    if (!PyType_Check(type)) type = reinterpret_cast<PyObject*>(PyDescr_TYPE(type));  // a class method
    add_stand_in(code, type);
  }
  PyObject* constants = reinterpret_cast<PyCodeObject*>(code)->co_consts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); ++i) {
    PyObject* nested = PyTuple_GET_ITEM(constants, i);
    bool is_shown = inner && is_generator_code(nested);
    if (is_shown) add_stand_in(nested, inner);
  }
}

PyTypeObject* type_of_generator(BorrowedRef code) {
  auto found = stood_for().find(code);
  return found == stood_for().end() ? &PyGen_Type : found->second;
}

bool takes_user_objects(BorrowedRef callable) {
  auto known = polyfills().find(callable);
  if (known == polyfills().end() || known->second.parameters.empty()) return false;
  return known->second.parameters.find_first_not_of("IO") == std::string::npos &&
         !is_generator_code(PyFunction_GET_CODE(known->second.function.get()));
}

bool fits_polyfill(Tracer& tracer, BorrowedRef callable, const CallArgs& args) {
  const std::string& parameters = polyfills().at(callable).parameters;
  if (parameters.empty()) return true;
  bool repeats = parameters.back() == '*';
  size_t count = parameters.size() - (repeats ? 1 : 0);
  if (!repeats && args.positional.size() > count) return false;
  for (size_t i = 0; i < args.positional.size(); ++i)
    if (!fits(tracer, parameters[std::min(i, count - 1)], args.positional[i])) return false;
  for (const auto& [name, value] : args.keywords) {
    char parameter = keyword_parameter(name);
    if (parameter == '-' || !fits(tracer, parameter, value)) return false;
  }
  return true;
}

namespace {

// Defaults of a polyfill are constants, or functions that are inlined as well.
ValuePtr default_value(BorrowedRef value) {
  if (PyFunction_Check(value.get())) return stand_in(value);
  return make_value<ObjectValue>(Ref::share(value), nullptr);
}

}  // namespace

ValuePtr stand_in(BorrowedRef original) {
  auto* model = reinterpret_cast<PyFunctionObject*>(original.get());
  auto function = make_value<FunctionValue>();
  function->code = Ref::share(model->func_code);
  if (model->func_defaults != nullptr) {
    std::vector<ValuePtr> defaults;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(model->func_defaults); ++i)
      defaults.push_back(default_value(PyTuple_GET_ITEM(model->func_defaults, i)));
    function->defaults = make_value<SequenceValue>(false, std::move(defaults));
  }
  if (model->func_kwdefaults != nullptr) {
    auto defaults = make_value<DictValue>();
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(model->func_kwdefaults, &at, &name, &value);)
      defaults->set(name, default_value(value));
    function->kw_defaults = defaults;
  }
  return function;
}

ValuePtr find_polyfill(BorrowedRef callable) {
  auto found = polyfills().find(callable);
  return found == polyfills().end() ? nullptr : stand_in(found->second.function.get());
}

}  // namespace md
