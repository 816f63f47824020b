#include "symbolic/facts/flag_members.h"

#include <algorithm>

#include "cpython/imports.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/values/no_warnings.h"

namespace md {

namespace {

// The function behind an attribute of a class; null if it is of another kind.
Ref function_of(PyObject* attribute) {
  if (PyFunction_Check(attribute)) return Ref::share(attribute);
  if (PyMethod_Check(attribute)) return Ref::share(PyMethod_GET_FUNCTION(attribute));
  bool is_wrapped = Py_IS_TYPE(attribute, &PyClassMethod_Type) || Py_IS_TYPE(attribute, &PyStaticMethod_Type);
  return is_wrapped ? check(PyObject_GetAttrString(attribute, "__func__")) : Ref();
}

// The namespace of the module enum.
PyObject* enum_globals(PyTypeObject* flag) {
  PyObject* missing = PyDict_GetItemString(flag->tp_dict, "_missing_");
  Ref function = missing != nullptr ? function_of(missing) : Ref();
  return function ? PyFunction_GetGlobals(function) : nullptr;
}

// Whether the class has no such attribute, or one in C or of the module enum.
bool is_of_enum(PyTypeObject* type, PyObject* globals, const char* name) {
  PyObject* attribute = _PyType_Lookup(type, check(PyUnicode_InternFromString(name)));
  if (attribute == nullptr || PyCFunction_Check(attribute) || Py_IS_TYPE(attribute, &PyWrapperDescr_Type) ||
      Py_IS_TYPE(attribute, &PyMethodDescr_Type))
    return true;
  Ref function = function_of(attribute);
  return function && PyFunction_Check(function.get()) && PyFunction_GetGlobals(function) == globals;
}

// Whether a new member is made without code of the program.
bool makes_members_as_enum(PyTypeObject* type) {
  static PyObject* const flag = imported("enum", "Flag").release();
  static PyObject* const meta = imported("enum", "EnumMeta").release();
  auto* flag_type = reinterpret_cast<PyTypeObject*>(flag);
  if (!PyType_IsSubtype(type, flag_type) || !Py_IS_TYPE(type, reinterpret_cast<PyTypeObject*>(meta))) return false;
  PyObject *globals = enum_globals(flag_type), *member = PyDict_GetItemString(type->tp_dict, "_member_type_");
  bool is_plain = globals != nullptr && member != nullptr && PyType_Check(member) &&
                  !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(member), Py_TPFLAGS_HEAPTYPE);
  constexpr const char* kAsked[] = {"_missing_",   "_iter_member_",    "_numeric_repr_", "__eq__", "__hash__",
                                    "__setattr__", "__getattribute__", "__getattr__",    "__new__"};
  return is_plain && std::ranges::all_of(kAsked, [&](const char* name) { return is_of_enum(type, globals, name); });
}

}  // namespace

void add_flag_member(Tracer& tracer, PyTypeObject* type, const CallArgs& args) {
  bool is_look_up = args.positional.size() == 1 && args.keywords.empty();
  if (!is_look_up || type_of(args.positional[0]) != &PyLong_Type || is_dynamic(args.positional[0])) return;
  if (!makes_members_as_enum(type)) return;
  Ref number = constant_of(tracer, args.positional[0]);
  if (!number) return;
  NoWarnings silence;
  Ref member = Ref::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(type), number));
  if (!member) PyErr_Clear();
}

}  // namespace md
