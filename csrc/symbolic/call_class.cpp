// Calls of classes: objects of plain Python classes and built-in exceptions are made by the walk.
#include "symbolic/walk.h"

namespace md {

namespace {

// Instances are made by object.__new__ alone, and have no storage but their attributes.
bool is_plain_class(PyTypeObject* type) {
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_new != PyBaseObject_Type.tp_new) return false;
  if (Py_TYPE(type)->tp_call != PyType_Type.tp_call) return false;
  if (PyType_HasFeature(type, Py_TPFLAGS_IS_ABSTRACT) || type->tp_finalize != nullptr || type->tp_del != nullptr)
    return false;
  return type->tp_setattro == PyObject_GenericSetAttr;
}

PyTypeObject* const kPlainException = reinterpret_cast<PyTypeObject*>(PyExc_ValueError);

// An exception class of the user whose objects are made by BaseException alone, and hold nothing but `args` and attributes.
bool is_plain_exception_class(PyTypeObject* type) {
  if (!PyType_HasFeature(type, Py_TPFLAGS_BASE_EXC_SUBCLASS) || !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE))
    return false;
  PyTypeObject* builtin = type->tp_base;
  while (PyType_HasFeature(builtin, Py_TPFLAGS_HEAPTYPE)) builtin = builtin->tp_base;
  if (builtin->tp_init != kPlainException->tp_init || builtin->tp_basicsize != kPlainException->tp_basicsize)
    return false;
  if (type->tp_new != kPlainException->tp_new || Py_TYPE(type)->tp_call != PyType_Type.tp_call) return false;
  return type->tp_finalize == nullptr && type->tp_del == nullptr && type->tp_setattro == PyObject_GenericSetAttr;
}

bool is_builtin_exception(PyTypeObject* type) {
  return PyType_HasFeature(type, Py_TPFLAGS_BASE_EXC_SUBCLASS) && !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
}

BorrowedRef args_name() {
  static PyObject* const name = PyUnicode_InternFromString("args");
  return name;
}

// The attribute `args` is where BaseException keeps it.
bool has_plain_args(Walk& walk, const ValuePtr& exception) {
  ValuePtr found = walk.type_attribute(exception, args_name());
  auto* known = found ? as<ObjectValue>(found) : nullptr;
  return known != nullptr && known->object.get() == _PyType_Lookup(kPlainException, args_name());
}

void set_args(InstanceValue& exception, std::vector<ValuePtr> args) {
  ValuePtr tuple = make_value<SequenceValue>(false, std::move(args));
  if (ValuePtr* known = exception.find(args_name()))
    *known = std::move(tuple);
  else
    exception.attributes.emplace_back(Ref::share(args_name()), std::move(tuple));
}

// __init__ of a built-in exception, called by that of a class of the user.
ValuePtr call_exception_init(Walk& walk, const CallArgs& args) {
  auto* exception = args.positional.empty() ? nullptr : as<InstanceValue>(args.positional[0]);
  if (exception == nullptr || !is_plain_exception_class(walk.exact_type(args.positional[0])))
    walk.graph_break(BreakReason::object_creation, "__init__ of an exception");
  if (!args.keywords.empty()) walk.raise_here();
  set_args(*exception, {args.positional.begin() + 1, args.positional.end()});
  return walk.none();
}

}  // namespace

ValuePtr Walk::call_class(const ValuePtr& type_value, CallArgs& args, ContinuationKind continuation) {
  static PyObject* const kInit = PyUnicode_InternFromString("__init__");
  auto* type = reinterpret_cast<PyTypeObject*>(identity_of(type_value).get());
  if (is_builtin_exception(type)) {
    // OSError and the Unicode errors choose their class or check their arguments when they are made.
    bool plain = type->tp_new == reinterpret_cast<PyTypeObject*>(PyExc_ValueError)->tp_new && args.keywords.empty();
    if (!plain) graph_break(BreakReason::object_creation, type->tp_name);
    return make_value<ExceptionValue>(type_value, args.positional);
  }
  bool is_exception = is_plain_exception_class(type);
  if (!is_exception && !is_plain_class(type)) graph_break(BreakReason::object_creation, type->tp_name);
  // What happens to the object under construction is followed only when its result is simply pushed.
  if (continuation != ContinuationKind::Push) graph_break(BreakReason::object_creation, type->tp_name);
  auto instance = make_value<InstanceValue>(type_value);
  if (is_exception) {
    if (!has_plain_args(*this, instance)) graph_break(BreakReason::object_creation, type->tp_name);
    set_args(*instance, args.positional);
  }
  ValuePtr init = type_attribute(instance, kInit);
  if (!init || !is_python_function(init)) {
    if (is_exception && type->tp_init == kPlainException->tp_init) {
      if (!args.keywords.empty()) raise_here();
      return instance;
    }
    if (type->tp_init != PyBaseObject_Type.tp_init) graph_break(BreakReason::object_creation, type->tp_name);
    if (!args.positional.empty() || !args.keywords.empty()) raise_here();
    return instance;
  }
  args.positional.insert(args.positional.begin(), instance);
  inline_function(init, std::move(args), ContinuationKind::PushSelf, instance);
  return nullptr;
}

void register_exception_init() {
  Ref builtins = check(PyImport_ImportModule("builtins"));
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(PyModule_GetDict(builtins), &at, &name, &value);) {
    if (!PyType_Check(value) || !is_builtin_exception(reinterpret_cast<PyTypeObject*>(value))) continue;
    if (reinterpret_cast<PyTypeObject*>(value)->tp_init != kPlainException->tp_init) continue;
    register_call(check(PyObject_GetAttrString(value, "__init__")).get(), call_exception_init);
  }
}

}  // namespace md
