#include "guards/object_fields.h"

#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "cpython/object_protocol.h"

namespace md {
namespace {

PyObject* or_none(PyObject* object) { return object != nullptr ? object : Py_None; }

PyHeapTypeObject* heap_type(PyObject* object) {
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ? reinterpret_cast<PyHeapTypeObject*>(type) : nullptr;
}

PyObject* in_own_dict(PyObject* object, const char* name) {
  PyHeapTypeObject* type = heap_type(object);
  if (type == nullptr || type->ht_type.tp_dict == nullptr) return nullptr;
  Ref key = check(PyUnicode_InternFromString(name));
  PyObject* found = PyDict_GetItemWithError(type->ht_type.tp_dict, key);
  if (found == nullptr) PyErr_Clear();
  return found;
}

PyObject* type_name(PyObject* object) {
  PyHeapTypeObject* type = heap_type(object);
  return type != nullptr ? type->ht_name : nullptr;
}
PyObject* type_qualname(PyObject* object) {
  PyHeapTypeObject* type = heap_type(object);
  return type != nullptr ? type->ht_qualname : nullptr;
}
PyObject* type_module(PyObject* object) { return in_own_dict(object, "__module__"); }
// Python creates an empty one if there is none.
PyObject* type_annotations(PyObject* object) {
  PyObject* found = in_own_dict(object, "__annotations__");
  return found != nullptr && PyDict_CheckExact(found) ? found : nullptr;
}
PyObject* type_doc(PyObject* object) {
  if (heap_type(object) == nullptr) return nullptr;
  PyObject* found = or_none(in_own_dict(object, "__doc__"));
  return found == Py_None || PyUnicode_CheckExact(found) ? found : nullptr;
}
PyObject* type_bases(PyObject* object) { return reinterpret_cast<PyTypeObject*>(object)->tp_bases; }
PyObject* type_dict(PyObject* object) { return pv_type_dict(reinterpret_cast<PyTypeObject*>(object)); }
PyObject* type_mro(PyObject* object) { return reinterpret_cast<PyTypeObject*>(object)->tp_mro; }

PyFunctionObject* function(PyObject* object) { return reinterpret_cast<PyFunctionObject*>(object); }
PyObject* function_name(PyObject* object) { return function(object)->func_name; }
PyObject* function_qualname(PyObject* object) { return function(object)->func_qualname; }
PyObject* function_code(PyObject* object) { return function(object)->func_code; }
PyObject* function_defaults(PyObject* object) { return or_none(function(object)->func_defaults); }
PyObject* function_kwdefaults(PyObject* object) { return or_none(function(object)->func_kwdefaults); }

PyObject* function_annotations(PyObject* object) {
  PyObject* known = function(object)->func_annotations;
  return known != nullptr && PyDict_Check(known) ? known : nullptr;
}
PyObject* function_doc(PyObject* object) { return or_none(function(object)->func_doc); }
PyObject* function_dict(PyObject* object) { return function(object)->func_dict; }

// Python creates the int on access: only small ints are objects with a lifetime of their own.
PyObject* deque_maxlen(PyObject* object) {
  Ref maxlen = check(PyObject_GetAttrString(object, "maxlen"));
  if (maxlen.get() == Py_None) return Py_None;
  long long number = PyLong_AsLongLong(maxlen);
  return number <= 256 ? maxlen.get() : nullptr;
}

struct Row {
  PyTypeObject* owner;  // or a subclass of it; null: collections.deque, which C cannot name
  const char* name;
  PyObject* (*read)(PyObject* object);
};

// Members, which Python also reads by offset, need no row.
const Row kRows[] = {{&PyType_Type, "__name__", type_name},
                     {&PyType_Type, "__qualname__", type_qualname},
                     {&PyType_Type, "__module__", type_module},
                     {&PyType_Type, "__doc__", type_doc},
                     {&PyType_Type, "__annotations__", type_annotations},
                     {&PyType_Type, "__bases__", type_bases},
                     {&PyType_Type, "__mro__", type_mro},
                     {&PyType_Type, "__dict__", type_dict},  // the dict, which Python wraps in a mappingproxy
                     {&PyFunction_Type, "__name__", function_name},
                     {&PyFunction_Type, "__qualname__", function_qualname},
                     {&PyFunction_Type, "__code__", function_code},
                     {&PyFunction_Type, "__defaults__", function_defaults},
                     {&PyFunction_Type, "__kwdefaults__", function_kwdefaults},
                     {&PyFunction_Type, "__annotations__", function_annotations},
                     {&PyFunction_Type, "__annotate__", pv_function_annotate},
                     {&PyFunction_Type, "__doc__", function_doc},
                     {&PyFunction_Type, "__type_params__", pv_function_type_params},
                     {&PyFunction_Type, "__dict__", function_dict},
                     {nullptr, "maxlen", deque_maxlen}};

PyTypeObject* owner_of(const Row& row) { return row.owner != nullptr ? row.owner : deque_type(); }

}  // namespace

std::optional<int> object_field(PyTypeObject* type, BorrowedRef name) {
  for (const Row& row : kRows)
    if (PyType_IsSubtype(type, owner_of(row)) != 0 && PyUnicode_CompareWithASCIIString(name, row.name) == 0 &&
        _PyType_Lookup(type, name) != nullptr)  // not in every version
      return static_cast<int>(&row - kRows);
  return std::nullopt;
}

PyObject* read_object_field(PyObject* object, int field) {
  const Row& row = kRows[field];
  return PyObject_TypeCheck(object, owner_of(row)) ? row.read(object) : nullptr;
}

bool has_member(PyTypeObject* type, BorrowedRef member_descriptor) {
  return PyType_IsSubtype(type, PyDescr_TYPE(member_descriptor.get())) != 0;
}

}  // namespace md
