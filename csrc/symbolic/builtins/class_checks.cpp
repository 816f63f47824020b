// isinstance and issubclass: classes, tuples and unions of them, abstract base classes, metaclasses with checks of
// their own.
#include "symbolic/builtins/class_checks.h"
#include "cpython/imports.h"
#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "guards/guard_set.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/builtin_calls.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

bool is_method(PyObject* member) {
  return member != nullptr && (PyFunction_Check(member) || Py_IS_TYPE(member, &PyStaticMethod_Type) ||
                               Py_IS_TYPE(member, &PyClassMethod_Type));
}

// Null: the program has not loaded typing, or not completely.
PyObject* names_of_typing() { return loaded_names("typing", "dataclass_transform"); }

// Up to 3.11 a protocol's hook is a plain function that inspects the calling frames, if the protocol is not a runtime
// protocol or has non-method members. For a subclass of the protocol the frames are those of abc.
bool looks_at_frames(PyTypeObject* type) {
  static PyObject* const kHook = PyUnicode_InternFromString("__subclasshook__");
  PyObject *hook = _PyType_Lookup(type, kHook), *typing = names_of_typing();
  if (typing == nullptr || !PyFunction_Check(hook) || PyFunction_GET_GLOBALS(hook) != typing) return false;
  static PyObject* const kIsProtocol = PyUnicode_InternFromString("_is_protocol");
  static PyObject* const kIsForRunTime = PyUnicode_InternFromString("_is_runtime_protocol");
  PyTypeObject* owner = type;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (PyDict_GetItemWithError(pv_type_dict(base), kHook) != hook) continue;
    owner = base;
    break;
  }
  if (PyDict_GetItemWithError(pv_type_dict(owner), kIsProtocol) != Py_True) return false;
  if (_PyType_Lookup(owner, kIsForRunTime) != Py_True) return true;
  PyObject* lister = PyDict_GetItemString(typing, "_get_protocol_attrs");
  if (lister == nullptr) return true;
  Ref names = check(PyObject_CallOneArg(lister, reinterpret_cast<PyObject*>(owner)));
  Ref iterator = check(PyObject_GetIter(names.get()));
  while (Ref name = Ref::steal(PyIter_Next(iterator.get())))
    if (!is_method(_PyType_Lookup(owner, name.get()))) return true;
  return false;
}

// One of the hooks of collections.abc, which share their globals.
PyObject* hook_of_iterable() {
  Ref hook = check(PyObject_GetAttrString(imported("_collections_abc", "Iterable"), "__subclasshook__"));
  return check(PyObject_GetAttrString(hook, "__func__")).release();
}

// Returns true if the __subclasshook__ of an abstract base class runs no code of the program.
bool has_known_hook(PyTypeObject* type) {
  static PyObject* const kHook = PyUnicode_InternFromString("__subclasshook__");
  static PyObject* const kBelow = PyUnicode_InternFromString("__subclasses__");
  bool has_own_below = _PyType_Lookup(type, kBelow) != nullptr ||
                       _PyType_Lookup(Py_TYPE(type), kBelow) != _PyType_Lookup(&PyType_Type, kBelow);
  if (has_own_below && type != &PyType_Type) return false;
  PyObject* hook = _PyType_Lookup(type, kHook);
  if (hook == _PyType_Lookup(&PyBaseObject_Type, kHook)) return true;
  Ref function = PyFunction_Check(hook) ? Ref::share(hook) : Ref::steal(PyObject_GetAttrString(hook, "__func__"));
  PyErr_Clear();
  if (!function || !PyFunction_Check(function.get())) return false;
  // The hooks of protocols only read dicts of classes.
  static PyObject* const kOfIterable = hook_of_iterable();
  PyObject* globals = PyFunction_GET_GLOBALS(function.get());
  return globals == PyFunction_GET_GLOBALS(kOfIterable) || globals == names_of_typing();
}

bool all_hooks_known(PyTypeObject* type, int& budget) {
  if (--budget < 0 || !has_known_hook(type)) return false;
  Ref below = check(PyObject_CallMethod(reinterpret_cast<PyObject*>(type), "__subclasses__", nullptr));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(below.get()); ++i)
    if (!all_hooks_known(reinterpret_cast<PyTypeObject*>(PyList_GET_ITEM(below.get(), i)), budget)) return false;
  return true;
}

// The check of an abstract base class: its results are cached until the next register().
std::optional<bool> abstract_check(Tracer& tracer, PyTypeObject* type, PyTypeObject* base, const ValuePtr& classinfo,
                                   PyObject* check_name) {
  static PyObject* const abc_meta = imported("abc", "ABCMeta").release();
  const Source* source = source_of(classinfo);
  bool is_abstract = _PyType_Lookup(Py_TYPE(base), check_name) ==
                     _PyType_Lookup(reinterpret_cast<PyTypeObject*>(abc_meta), check_name);
  int budget = 1000;
  if (source == nullptr || !is_abstract || !all_hooks_known(base, budget) || looks_at_frames(base)) return std::nullopt;
  tracer.guards().abc_token(source);
  int found = PyObject_IsSubclass(reinterpret_cast<PyObject*>(type), reinterpret_cast<PyObject*>(base));
  if (found < 0 && !PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
  PyErr_Clear();  // the interpreter raises it at the program's call
  return found < 0 ? std::nullopt : std::optional<bool>(found == 1);
}

// The result of a __instancecheck__ or __subclasscheck__ in Python; nullopt if the metaclass has none of its own.
std::optional<bool> answer_of_metaclass(Tracer& tracer, const ValuePtr& asked, const ValuePtr& classinfo,
                                        PyObject* check_name) {
  ValuePtr hook = type_attribute(tracer, classinfo, check_name);
  auto* known = as<ObjectValue>(hook);
  static PyObject* const abc_meta = imported("abc", "ABCMeta").release();
  bool is_abstract =
      known != nullptr && known->object.get() == _PyType_Lookup(reinterpret_cast<PyTypeObject*>(abc_meta), check_name);
  if (known != nullptr && known->source != nullptr) tracer.values().identity_of(hook);
  if (!hook || is_abstract || !is_python_function(hook)) return std::nullopt;
  std::optional<bool> truth = truth_by_methods(tracer, call_now(tracer, hook, {{classinfo, asked}, {}}));
  if (!truth) graph_break(BreakReason::unknown_truth, "the answer of a metaclass");
  return truth;
}

// One that the trace has made, or whose parts can be read again.
bool is_union(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  bool can_be_read = object != nullptr && object->source != nullptr && Py_TYPE(object->object.get()) == union_type();
  return can_be_read || is_made_union(value);
}

// isinstance(asked, classinfo) and issubclass; `type` is the class of `asked`, or `asked` itself.
bool is_subtype_of(Tracer& tracer, const ValuePtr& asked, PyTypeObject* type, const ValuePtr& classinfo,
                   const char* builtin = "isinstance") {
  if (auto elements = elements_of(tracer, classinfo)) {
    for (const ValuePtr& element : *elements)
      if (is_subtype_of(tracer, asked, type, element, builtin)) return true;
    return false;
  }
  if (is_union(classinfo)) {
    static PyObject* const kArgs = PyUnicode_InternFromString("__args__");
    return is_subtype_of(tracer, asked, type, attribute(tracer, classinfo, kArgs), builtin);
  }
  Ref check_name = check(PyUnicode_InternFromString(std::string_view(builtin) == "issubclass" ? "__subclasscheck__"
                                                                                              : "__instancecheck__"));
  if (is_user_object(classinfo))  // an object that answers itself (typing.Mapping)
    if (std::optional<bool> answer = answer_of_metaclass(tracer, asked, classinfo, check_name)) return *answer;
  PyObject* known = tracer.values().identity_of(classinfo);
  if (known == nullptr || !PyType_Check(known)) break_on_builtin(builtin, classinfo);
  auto* base = reinterpret_cast<PyTypeObject*>(known);
  bool has_own_check = _PyType_Lookup(Py_TYPE(known), check_name) != _PyType_Lookup(&PyType_Type, check_name);
  // A user-defined metaclass may be given one later.
  ValuePtr kept =
      !has_own_check && Py_TYPE(known) != &PyType_Type ? type_attribute(tracer, classinfo, check_name) : nullptr;
  if (kept && source_of(kept) != nullptr) tracer.values().identity_of(kept);
  if (has_own_check) {
    // isinstance() compares type(x) with the class before it calls the metaclass.
    if (type == base && std::string_view(builtin) == "isinstance") return true;
    if (std::optional<bool> answer = answer_of_metaclass(tracer, asked, classinfo, check_name)) return *answer;
    std::optional<bool> found = abstract_check(tracer, type, base, classinfo, check_name);
    if (!found) break_on_builtin(builtin, classinfo);
    return *found;
  }
  return std::string_view(builtin) == "issubclass" ? derives_from(tracer, asked, base)
                                                   : is_object_of(tracer, asked, base);
}

// The class of the value. Breaks if it may report another __class__, through a class attribute of that name or a custom
// __getattribute__.
PyTypeObject* class_it_shows(Tracer& tracer, const ValuePtr& value) {
  PyTypeObject* type = tracer.values().exact_type(value);
  static PyObject* const kClass = PyUnicode_InternFromString("__class__");
  static PyObject* const kGetattribute = PyUnicode_InternFromString("__getattribute__");
  PyObject* reading = _PyType_Lookup(type, kGetattribute);
  bool is_proxy = type == &_PyWeakref_ProxyType || type == &_PyWeakref_CallableProxyType;
  if (is_proxy || (reading != nullptr && PyFunction_Check(reading))) break_on_builtin("isinstance", value);
  if (_PyType_Lookup(type, kClass) != _PyType_Lookup(&PyBaseObject_Type, kClass)) break_on_builtin("isinstance", value);
  // The class may be given one later.
  for (PyObject* name : {kClass, kGetattribute}) {
    ValuePtr found = may_change(type) ? type_attribute(tracer, value, name) : nullptr;
    if (found && source_of(found) != nullptr) tracer.values().identity_of(found);
  }
  return type;
}

// The functions called by ABCMeta.__instancecheck__(class, object) and __subclasscheck__(class, other).
template <bool of_object>
ValuePtr call_abstract_check(Tracer& tracer, const CallArgs& args) {
  require_count(args, 2, 2);
  const ValuePtr &classinfo = args.positional[0], &asked = args.positional[1];
  PyObject *base = tracer.values().identity_of(classinfo),
           *other = of_object ? nullptr : tracer.values().identity_of(asked).get();
  if (base == nullptr || !PyType_Check(base)) break_on_builtin("an abstract check", classinfo);
  if (!of_object && (other == nullptr || !PyType_Check(other))) break_on_builtin("issubclass", asked);
  auto* type = of_object ? class_it_shows(tracer, asked) : reinterpret_cast<PyTypeObject*>(other);
  static PyObject* const kCheck = PyUnicode_InternFromString("__subclasscheck__");
  std::optional<bool> found = abstract_check(tracer, type, reinterpret_cast<PyTypeObject*>(base), classinfo, kCheck);
  if (!found) break_on_builtin("an abstract check", classinfo);
  return tracer.values().boolean(*found);
}

// type.__instancecheck__(class, object) and __subclasscheck__(class, other), which ask no metaclass.
ValuePtr call_plain_instance_check(Tracer& tracer, const CallArgs& args) {
  require_count(args, 2, 2);
  PyObject* base = tracer.values().identity_of(args.positional[0]);
  if (base == nullptr || !PyType_Check(base)) break_on_builtin("isinstance", args.positional[0]);
  class_it_shows(tracer, args.positional[1]);
  return tracer.values().boolean(is_object_of(tracer, args.positional[1], reinterpret_cast<PyTypeObject*>(base)));
}

ValuePtr call_plain_subclass_check(Tracer& tracer, const CallArgs& args) {
  require_count(args, 2, 2);
  for (const ValuePtr& value : args.positional) {
    PyObject* type = tracer.values().identity_of(value);
    if (type == nullptr || !PyType_Check(type)) break_on_builtin("issubclass", value);
  }
  auto* base = reinterpret_cast<PyTypeObject*>(as<ObjectValue>(args.positional[0])->object.get());
  return tracer.values().boolean(derives_from(tracer, args.positional[1], base));
}

ValuePtr call_isinstance(Tracer& tracer, const CallArgs& args) {
  require_count(args, 2, 2);
  return tracer.values().boolean(is_instance(tracer, args.positional[0], args.positional[1]));
}

ValuePtr call_issubclass(Tracer& tracer, const CallArgs& args) {
  require_count(args, 2, 2);
  PyObject* type = tracer.values().identity_of(args.positional[0]);
  if (type == nullptr || !PyType_Check(type)) break_on_builtin("issubclass", args.positional[0]);
  return tracer.values().boolean(is_subtype_of(tracer, args.positional[0], reinterpret_cast<PyTypeObject*>(type),
                                               args.positional[1], "issubclass"));
}

}  // namespace

bool is_instance(Tracer& tracer, const ValuePtr& value, const ValuePtr& classinfo) {
  return is_subtype_of(tracer, value, class_it_shows(tracer, value), classinfo);
}

namespace {

void add_class_checks() {
  static constexpr BuiltinRow kRows[] = {{"isinstance", call_isinstance}, {"issubclass", call_issubclass}};
  register_builtin_rows(kRows);
  auto* type = reinterpret_cast<PyObject*>(&PyType_Type);
  register_call(check(PyObject_GetAttrString(type, "__instancecheck__")).get(), call_plain_instance_check);
  register_call(check(PyObject_GetAttrString(type, "__subclasscheck__")).get(), call_plain_subclass_check);
  register_call(imported("_abc", "_abc_instancecheck").get(), call_abstract_check<true>);
  register_call(imported("_abc", "_abc_subclasscheck").get(), call_abstract_check<false>);
}

const CallRegistration call_registration(add_class_checks);

}  // namespace

}  // namespace md
