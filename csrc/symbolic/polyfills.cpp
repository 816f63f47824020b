// Functions not written in Python that are inlined as Python ones (minidynamo._polyfills).
#include "symbolic/walk.h"

#include <algorithm>

namespace md {

namespace {

struct Polyfill {
  Ref function;
  std::string parameters;
};

std::unordered_map<PyObject*, Polyfill>& polyfills() {
  static auto* table = new std::unordered_map<PyObject*, Polyfill>();  // lives as long as the process
  return *table;
}

bool is_number(Walk& walk, const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  return walk.is_tensor(value) || type == &PyLong_Type || type == &PyBool_Type || type == &PyFloat_Type;
}

bool is_int(const ValuePtr& value) { return type_of(value) == &PyLong_Type; }

bool is_not_negative(Walk& walk, const ValuePtr& value) {
  return is_int(value) && walk.int_of(value).value_or(-1) >= 0;
}

bool is_iterable(const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  return type != nullptr && type->tp_iter != nullptr;
}

// Whether the original takes the value there without an error; letters as in register_polyfill.
bool fits(Walk& walk, char parameter, const ValuePtr& value) {
  switch (parameter) {
    case 'I':
      return is_iterable(value);
    case 'N':
      return is_not_negative(walk, value);
    case 'n':
      return type_of(value) == Py_TYPE(Py_None) || is_not_negative(walk, value);
    case 'p':
      return type_of(value) == Py_TYPE(Py_None) || (is_int(value) && walk.int_of(value).value_or(0) > 0);
    case 'Z':
      return is_int(value);
    case 'V':
      return is_number(walk, value);
    default:
      return true;
  }
}

char keyword_parameter(BorrowedRef name) {
  static constexpr std::pair<const char*, char> kKeywords[] = {{"initial", 'O'}, {"func", 'O'}, {"fillvalue", 'O'},
                                                               {"start", 'V'},   {"step", 'V'}, {"repeat", 'N'}};
  for (const auto& [known, parameter] : kKeywords)
    if (PyUnicode_CompareWithASCIIString(name, known) == 0) return parameter;
  return '-';
}

}  // namespace

void register_polyfill(BorrowedRef callable, BorrowedRef function, const std::string& parameters) {
  Py_INCREF(callable.get());
  polyfills()[callable] = {Ref::share(function), parameters};
}

bool fits_polyfill(Walk& walk, BorrowedRef callable, const CallArgs& args) {
  const std::string& parameters = polyfills().at(callable).parameters;
  if (parameters.empty()) return true;
  bool repeats = parameters.back() == '*';
  size_t count = parameters.size() - (repeats ? 1 : 0);
  if (!repeats && args.positional.size() > count) return false;
  for (size_t i = 0; i < args.positional.size(); ++i)
    if (!fits(walk, parameters[std::min(i, count - 1)], args.positional[i])) return false;
  for (const auto& [name, value] : args.keywords) {
    char parameter = keyword_parameter(name);
    if (parameter == '-' || !fits(walk, parameter, value)) return false;
  }
  return true;
}

ValuePtr find_polyfill(BorrowedRef callable) {
  auto found = polyfills().find(callable);
  if (found == polyfills().end()) return nullptr;
  auto* model = reinterpret_cast<PyFunctionObject*>(found->second.function.get());
  auto function = make_value<FunctionValue>();
  function->code = Ref::share(model->func_code);
  if (model->func_defaults != nullptr) {
    // Defaults of a polyfill are constants.
    function->defaults = make_value<ObjectValue>(Ref::share(model->func_defaults), nullptr);
  }
  if (model->func_kwdefaults != nullptr) {
    auto defaults = make_value<DictValue>();
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(model->func_kwdefaults, &at, &name, &value);)
      defaults->set(name, make_value<ObjectValue>(Ref::share(value), nullptr));
    function->kw_defaults = defaults;
  }
  return function;
}

}  // namespace md
