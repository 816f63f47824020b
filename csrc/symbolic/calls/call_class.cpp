// Calls of classes, as type.__call__ and the __new__ of object, tuple, dict and list do them.
#include "cpython/library_types.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/calls/calls.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/flag_members.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

// Returns true for a class created by type itself: a heap type of a C library has its own way to create or free
// objects.
bool is_of_class_statement(PyTypeObject* type) {
  static const auto* sample = reinterpret_cast<PyTypeObject*>(
      check(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(){sO}", "sample", "__new__", Py_None))
          .release());
  bool has_own_new = type->tp_new != type->tp_base->tp_new;
  return type->tp_dealloc == sample->tp_dealloc && (!has_own_new || type->tp_new == sample->tp_new);
}

// Returns true if the class adds at most an attribute dict to the layout of this built-in type, and neither creating
// nor freeing an object is observable.
bool is_plain_subclass(PyTypeObject* type, PyTypeObject* base) {
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_finalize != nullptr || type->tp_del != nullptr)
    return false;
  if (PyType_HasFeature(type, Py_TPFLAGS_IS_ABSTRACT)) return false;
  for (; PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE); type = type->tp_base)
    if (!is_of_class_statement(type)) return false;
  return type == base;
}

[[noreturn]] void break_on_creation(PyTypeObject* type) { graph_break(BreakReason::object_creation, type->tp_name); }

PyTypeObject* class_argument(Tracer& tracer, const CallArgs& args) {
  PyObject* type = args.positional.empty() ? nullptr : tracer.values().identity_of(args.positional[0]).get();
  if (type == nullptr || !PyType_Check(type)) raise_here();
  return reinterpret_cast<PyTypeObject*>(type);
}

// object.__new__(cls, ...): the arguments are for __init__; without one, or with a user-defined __new__, they are an
// error.
ValuePtr call_object_new(Tracer& tracer, const CallArgs& args) {
  PyTypeObject* type = class_argument(tracer, args);
  if (!is_plain_subclass(type, &PyBaseObject_Type)) break_on_creation(type);
  bool has_more = args.positional.size() > 1 || !args.keywords.empty();
  if (has_more && (type->tp_new != PyBaseObject_Type.tp_new || type->tp_init == PyBaseObject_Type.tp_init))
    raise_here();
  return make_value<InstanceValue>(args.positional[0]);
}

// tuple.__new__(cls, iterable)
ValuePtr call_tuple_new(Tracer& tracer, const CallArgs& args) {
  PyTypeObject* type = class_argument(tracer, args);
  if (args.positional.size() > 2 || !args.keywords.empty()) raise_here();
  if (type != &PyTuple_Type && !is_plain_subclass(type, &PyTuple_Type)) break_on_creation(type);
  std::vector<ValuePtr> items;
  if (args.positional.size() == 2) {
    auto elements = iterate(tracer, args.positional[1], kTupleHint);
    if (!elements) graph_break(BreakReason::unknown_iteration, describe(args.positional[1]));
    items = std::move(*elements);
  }
  auto made = make_value<SequenceValue>(false, std::move(items));
  if (type != &PyTuple_Type) made->type = args.positional[0];
  return made;
}

// dict.__new__(cls, ...): empty, whatever the arguments.
ValuePtr call_dict_new(Tracer& tracer, const CallArgs& args) {
  PyTypeObject* type = class_argument(tracer, args);
  if (!is_plain_subclass(type, &PyDict_Type) && !is_plain_subclass(type, &PyODict_Type)) break_on_creation(type);
  auto made = make_value<DictValue>();
  made->type = args.positional[0];
  return made;
}

// list.__new__(cls, ...): empty, whatever the arguments.
ValuePtr call_list_new(Tracer& tracer, const CallArgs& args) {
  PyTypeObject* type = class_argument(tracer, args);
  if (!is_plain_subclass(type, &PyList_Type)) break_on_creation(type);
  auto made = make_value<SequenceValue>(true, std::vector<ValuePtr>{});
  made->type = args.positional[0];
  return made;
}

// property.__new__(cls, ...): of the object only the type is known.
ValuePtr call_property_new(Tracer& tracer, const CallArgs& args) {
  PyTypeObject* type = class_argument(tracer, args);
  if (!is_plain_subclass(type, &PyProperty_Type)) break_on_creation(type);
  auto made = make_value<InstanceValue>(args.positional[0]);
  made->opaque_since = tracer.step_number();
  return made;
}

// property.__init__(self, ...) of such an object.
ValuePtr call_property_init(Tracer& tracer, const CallArgs& args) {
  auto* made = args.positional.empty() ? nullptr : as<InstanceValue>(args.positional[0]);
  if (made == nullptr || made->opaque_since == 0) raise_here();
  return tracer.values().none();
}

// type.__call__(cls, ...), as called by a metaclass's own __call__.
ValuePtr call_type_call(Tracer& tracer, const CallArgs& args) {
  class_argument(tracer, args);
  CallArgs inner = args;
  inner.positional.erase(inner.positional.begin());
  return make_object(tracer, args.positional[0], inner, ContinuationKind::Hold);
}

struct NewRow {
  PyTypeObject* type;
  CallHandler handler;
};
constexpr NewRow kNew[] = {{&PyBaseObject_Type, call_object_new},
                           {&PyTuple_Type, call_tuple_new},
                           {&PyDict_Type, call_dict_new},
                           {&PyList_Type, call_list_new},
                           {&PyProperty_Type, call_property_new}};

}  // namespace

ValuePtr call_class(Tracer& tracer, const ValuePtr& type_value, CallArgs& args, ContinuationKind continuation,
                    const ValuePtr& continuation_value) {
  static PyObject* const kCall = PyUnicode_InternFromString("__call__");
  auto* type = reinterpret_cast<PyTypeObject*>(tracer.values().identity_of(type_value).get());
  PyTypeObject* metatype = Py_TYPE(type);
  if (metatype == &PyType_Type) return make_object(tracer, type_value, args, continuation);
  ValuePtr method = type_attribute(tracer, type_value, kCall);
  if (metatype->tp_call == PyType_Type.tp_call) {
    if (as<ObjectValue>(method)->source != nullptr) tracer.values().identity_of(method);
    return make_object(tracer, type_value, args, continuation);
  }
  // A class is not bound: _TypedDictMeta has `__call__ = dict`.
  auto* known = as<ObjectValue>(method);
  if (known != nullptr && PyType_CheckExact(known->object.get())) {
    call(tracer, method, std::move(args), continuation, continuation_value);
    return nullptr;
  }
  if (!method || !is_python_function(method)) break_on_creation(type);
  add_flag_member(tracer, type, args);
  args.positional.insert(args.positional.begin(), type_value);
  call_function(tracer, method, std::move(args), continuation, continuation_value);
  return nullptr;
}

ValuePtr make_object(Tracer& tracer, const ValuePtr& type_value, CallArgs& args, ContinuationKind continuation) {
  static PyObject* const kInit = PyUnicode_InternFromString("__init__");
  static PyObject* const kNew = PyUnicode_InternFromString("__new__");
  auto* type = reinterpret_cast<PyTypeObject*>(tracer.values().identity_of(type_value).get());
  if (type->tp_new == nullptr) raise_here();  // the class cannot be instantiated
  if (is_group_class(type)) return make_group(tracer, type_value, args);
  if (is_exception_class(type)) {
    Handle<InstanceValue> exception = new_exception(tracer, type_value, args.positional);
    // Other classes choose another class or check their arguments in __new__.
    if (!exception) break_on_creation(type);
    return initialise(tracer, exception, exception_init(tracer, exception), args, continuation);
  }
  if (type == &PyBaseObject_Type && args.is_empty()) return make_value<InstanceValue>(type_value);
  if (type == simple_namespace_type() && args.positional.empty()) {
    auto made = make_value<InstanceValue>(type_value);
    made->attributes = args.keywords;
    return made;
  }
  ValuePtr maker =
      PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ? optional_attribute(tracer, type_value, kNew) : nullptr;
  if (!maker) break_on_creation(type);
  CallArgs given = args;
  given.positional.insert(given.positional.begin(), type_value);
  ValuePtr made;
  if (is_python_function(maker)) {
    made = call_now(tracer, maker, given);
  } else if (CallHandler handler =
                 type_of(maker) == &PyCFunction_Type ? find_call(tracer.values().identity_of(maker)) : nullptr) {
    made = handler(tracer, given);
  } else {
    break_on_creation(type);
  }
  PyTypeObject* made_type = tracer.values().exact_type(made);
  if (!is_object_of(tracer, made, type)) return made;
  ValuePtr init = type_attribute(tracer, made, kInit);
  if (made_type->tp_init == PyBaseObject_Type.tp_init) {
    if (init && source_of(init) != nullptr) tracer.values().identity_of(init);
    return made;
  }
  if (CallHandler handler =
          init && type_of(init) == &PyWrapperDescr_Type ? find_call(tracer.values().identity_of(init)) : nullptr) {
    args.positional.insert(args.positional.begin(), made);
    handler(tracer, args);
    return made;
  }
  if (!init || !is_python_function(init)) break_on_creation(type);
  return initialise(tracer, made, init, args, continuation);
}

// Runs the user's __init__, if there is one.
ValuePtr initialise(Tracer& tracer, const ValuePtr& instance, const ValuePtr& init, CallArgs& args,
                    ContinuationKind continuation) {
  if (!init && !args.keywords.empty()) raise_here();
  if (!init) return instance;
  args.positional.insert(args.positional.begin(), instance);
  if (continuation == ContinuationKind::Push) {
    inline_function(tracer, init, std::move(args), ContinuationKind::PushSelf, instance);
    return nullptr;
  }
  // The object is not pushed on the caller's stack but needed by another continuation.
  if (!same_object(tracer, call_now(tracer, init, std::move(args)), tracer.values().none())) raise_here();
  return instance;
}

namespace {

void add_class_calls() {
  for (const NewRow& row : kNew)
    register_call(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(row.type), "__new__")).get(), row.handler);
  register_call(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyType_Type), "__call__")).get(),
                call_type_call);
  register_call(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyProperty_Type), "__init__")).get(),
                call_property_init);
}

const CallRegistration call_registration(add_class_calls);

}  // namespace

}  // namespace md
