// Calls of classes: objects of plain Python classes and built-in exceptions are made by the walk.
#include "symbolic/exceptions.h"

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

}  // namespace

ValuePtr Walk::call_class(const ValuePtr& type_value, CallArgs& args, ContinuationKind continuation) {
  static PyObject* const kInit = PyUnicode_InternFromString("__init__");
  auto* type = reinterpret_cast<PyTypeObject*>(identity_of(type_value).get());
  if (is_exception_class(type)) {
    Handle<InstanceValue> exception = new_exception(*this, type_value, args.positional);
    // Others choose their class or check their arguments when they are made.
    if (!exception) graph_break(BreakReason::object_creation, type->tp_name);
    return initialise(exception, exception_init(*this, exception), args, continuation);
  }
  if (!is_plain_class(type)) graph_break(BreakReason::object_creation, type->tp_name);
  auto instance = make_value<InstanceValue>(type_value);
  ValuePtr init = type_attribute(instance, kInit);
  if (init && is_python_function(init)) return initialise(instance, init, args, continuation);
  if (type->tp_init != PyBaseObject_Type.tp_init) graph_break(BreakReason::object_creation, type->tp_name);
  if (!args.positional.empty()) raise_here();
  return initialise(instance, nullptr, args, continuation);
}

// Runs the user's __init__, if there is one.
ValuePtr Walk::initialise(const ValuePtr& instance, const ValuePtr& init, CallArgs& args,
                          ContinuationKind continuation) {
  if (!init && !args.keywords.empty()) raise_here();
  if (!init) return instance;
  // What happens to the object under construction is followed only when its result is simply pushed.
  if (continuation != ContinuationKind::Push) graph_break(BreakReason::object_creation, describe(instance));
  args.positional.insert(args.positional.begin(), instance);
  inline_function(init, std::move(args), ContinuationKind::PushSelf, instance);
  return nullptr;
}

}  // namespace md
