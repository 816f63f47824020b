#include "symbolic/pure_calls.h"

#include <unordered_set>

#include "frontends/device_object.h"
#include "frontends/size_object.h"
#include "symbolic/exceptions.h"

namespace md {

namespace {

std::unordered_set<PyObject*>& pure_calls() {
  static auto* calls = new std::unordered_set<PyObject*>();  // holds references; lives as long as the process
  return *calls;
}

void add(BorrowedRef callable) {
  if (callable && pure_calls().insert(callable).second) Py_INCREF(callable.get());
}

void add_attributes(BorrowedRef owner, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    Ref attribute = Ref::steal(PyObject_GetAttrString(owner, name));
    if (!attribute) {
      PyErr_Clear();  // not in this version of Python
      continue;
    }
    add(attribute.get());
  }
}

PyObject* builtin(const char* name) {
  return check(PyObject_GetAttrString(check(PyImport_ImportModule("builtins")), name)).release();
}

// All public methods of an immutable built-in type, but the ones that would make something mutable or huge.
void add_methods(PyTypeObject* type, std::initializer_list<const char*> except) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  Ref dict = check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dict__"));
  Ref items = check(PyMapping_Items(dict));
  for (position = 0; position < PyList_GET_SIZE(items.get()); ++position) {
    key = PyTuple_GET_ITEM(PyList_GET_ITEM(items.get(), position), 0);
    value = PyTuple_GET_ITEM(PyList_GET_ITEM(items.get(), position), 1);
    bool excluded = PyUnicode_AsUTF8(key)[0] == '_';
    for (const char* name : except) excluded = excluded || PyUnicode_CompareWithASCIIString(key, name) == 0;
    if (!excluded && Py_IS_TYPE(value, &PyMethodDescr_Type)) add(value);
  }
}

// int(n), str(n) ... of a number that varies. Null: not one of these.
ValuePtr computed_call(Walk& walk, BorrowedRef callable, const CallArgs& args) {
  static const std::pair<PyObject*, Computation> kRows[] = {
      {reinterpret_cast<PyObject*>(&PyLong_Type), Computation::Int},
      {reinterpret_cast<PyObject*>(&PyFloat_Type), Computation::Float},
      {reinterpret_cast<PyObject*>(&PyUnicode_Type), Computation::Str},
      {builtin("repr"), Computation::Repr},
      {builtin("ascii"), Computation::Ascii},
      {builtin("abs"), Computation::Absolute}};
  if (args.positional.size() != 1 || !args.keywords.empty()) return nullptr;
  for (const auto& [function, computation] : kRows)
    if (callable.get() == function) return walk.computed(computation, {args.positional[0]});
  return nullptr;
}

}  // namespace

void register_pure_call(BorrowedRef callable) { add(callable); }

bool is_pure_call(BorrowedRef callable) { return pure_calls().contains(callable); }

ValuePtr value_of_result(Walk& walk, const Ref& result) {
  bool immutable = is_guardable_constant(result.get()) || PyFrozenSet_CheckExact(result.get()) ||
                   Py_IS_TYPE(result.get(), size_type());
  if (immutable) return walk.constant(result.get());
  if (result.get() == Py_NotImplemented) return nullptr;
  bool is_list = PyList_CheckExact(result.get());
  if (is_list || PyTuple_CheckExact(result.get())) {
    std::vector<ValuePtr> items;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(result.get());
    for (Py_ssize_t i = 0; i < count; ++i) {
      ValuePtr item = value_of_result(walk, Ref::share(PySequence_Fast_GET_ITEM(result.get(), i)));
      if (!item) return nullptr;
      items.push_back(std::move(item));
    }
    return make_value<SequenceValue>(is_list, std::move(items));
  }
  return nullptr;
}

ValuePtr fold_pure_call(Walk& walk, BorrowedRef callable, const CallArgs& args) {
  if (ValuePtr computed = computed_call(walk, callable, args)) return computed;
  static const Ref kRepr = Ref::steal(builtin("repr")), kFormat = Ref::steal(builtin("format"));
  bool takes_text = callable.get() == reinterpret_cast<PyObject*>(&PyUnicode_Type) || callable.get() == kRepr.get() ||
                    callable.get() == kFormat.get();
  std::vector<Ref> held;
  auto hold = [&](const ValuePtr& value) {
    bool is_exception = exception_of(value) != nullptr;
    if (is_exception && !takes_text) return false;
    Ref constant = is_exception ? text_model(walk, value) : walk.is_tensor(value) ? Ref() : walk.constant_of(value);
    if (!constant && !is_exception) {
      // A list of constants made here is read only (str.join, max).
      auto elements = value->kind == ValueKind::Iterator ? walk.iterate(value) : walk.elements_of(value);
      constant = elements ? walk.constant_of(make_value<SequenceValue>(false, *elements)) : Ref();
      if (constant) constant = check(PySequence_List(constant));
    }
    held.push_back(constant);
    return static_cast<bool>(constant);
  };
  Ref names = check(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size())));
  for (const ValuePtr& value : args.positional)
    if (!hold(value)) return nullptr;
  for (size_t i = 0; i < args.keywords.size(); ++i) {
    PyTuple_SET_ITEM(names.get(), i, Py_NewRef(args.keywords[i].first.get()));
    if (!hold(args.keywords[i].second)) return nullptr;
  }
  std::vector<PyObject*> plain;
  for (const Ref& value : held) plain.push_back(value);
  Ref result = Ref::steal(PyObject_Vectorcall(callable, plain.data(), args.positional.size(),
                                              args.keywords.empty() ? nullptr : names.get()));
  if (!result) walk.raise_set();
  return value_of_result(walk, result);
}

void register_pure_calls() {
  Ref builtins = check(PyImport_ImportModule("builtins"));
  add_attributes(builtins.get(), {"abs", "bin",   "chr",    "complex", "divmod", "float",    "hex",   "int",
                                  "max", "min",   "oct",    "ord",     "pow",    "repr",     "round", "slice",
                                  "str", "ascii", "format", "bytes",   "range",  "frozenset"});
  Ref math = check(PyImport_ImportModule("math"));
  Ref names = check(PyObject_Dir(math));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names.get()); ++i) {
    const char* name = PyUnicode_AsUTF8(PyList_GET_ITEM(names.get(), i));
    Ref attribute = check(PyObject_GetAttrString(math, name));
    // factorial, comb and perm make large numbers of small ones.
    std::string_view text(name);
    if (PyCFunction_Check(attribute.get()) && text != "factorial" && text != "comb" && text != "perm")
      add(attribute.get());
  }
  add(reinterpret_cast<PyObject*>(device_type()));
  add(reinterpret_cast<PyObject*>(size_type()));
  add_methods(&PyUnicode_Type, {"zfill", "ljust", "rjust", "center", "expandtabs", "format", "format_map"});
  add_methods(&PyBytes_Type, {"zfill", "ljust", "rjust", "center", "expandtabs"});
  add_methods(&PyLong_Type, {});
  add_methods(&PyFloat_Type, {});
  add_methods(&PyComplex_Type, {});
  add_methods(&PyTuple_Type, {});
  add_methods(size_type(), {});
  add_methods(&PyRange_Type, {});
}

}  // namespace md
