#include "frontends/size_object.h"

#include "cpython/object_protocol.h"

namespace md {
namespace {

// Takes the items of an exact tuple.
Ref size_from_tuple(BorrowedRef tuple) {
  Py_ssize_t length = PyTuple_GET_SIZE(tuple.get());
  Ref size = check(pv_new_tuple(size_type(), length));
  for (Py_ssize_t i = 0; i < length; ++i) {
    PyTuple_SET_ITEM(size.get(), i, Py_NewRef(PyTuple_GET_ITEM(tuple.get(), i)));
  }
  return size;
}

// Converts the result of a tuple operation to a Size.
PyObject* wrap_tuple(PyObject* tuple) {
  if (tuple == nullptr || !PyTuple_CheckExact(tuple)) return tuple;
  Ref owned = Ref::steal(tuple);
  try {
    return size_from_tuple(owned).release();
  } catch (const PythonError&) {
    return nullptr;
  }
}

PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  Ref size = Ref::steal(PyTuple_Type.tp_new(type, args, kwargs));
  if (!size) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(size.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(size.get(), i);
    if (PyLong_Check(item)) continue;
    if (!PyIndex_Check(item)) {
      return PyErr_Format(PyExc_TypeError, "Size() takes an iterable of 'int' (item %zd is '%s')", i,
                          Py_TYPE(item)->tp_name);
    }
    PyObject* number = PyNumber_Index(item);
    if (number == nullptr) return nullptr;
    PyTuple_SET_ITEM(size.get(), i, number);
    Py_DECREF(item);
  }
  return size.release();
}

PyObject* size_repr(PyObject* self) {
  Ref items = Ref::steal(PySequence_List(self));
  return items ? PyUnicode_FromFormat("minidynamo.Size(%R)", items.get()) : nullptr;
}

PyObject* size_numel(PyObject* self, PyObject*) {
  Ref count = Ref::steal(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; count && i < PyTuple_GET_SIZE(self); ++i) {
    count = Ref::steal(PyNumber_Multiply(count, PyTuple_GET_ITEM(self, i)));
  }
  return count.release();
}

// A number slot, so that tuple + Size is a Size as well.
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) return Py_NewRef(Py_NotImplemented);
  return wrap_tuple(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_repeat(PyObject* self, Py_ssize_t count) {
  return wrap_tuple(PyTuple_Type.tp_as_sequence->sq_repeat(self, count));
}
PyObject* size_subscript(PyObject* self, PyObject* key) {
  return wrap_tuple(PyTuple_Type.tp_as_mapping->mp_subscript(self, key));
}

PyObject* size_reduce(PyObject* self, PyObject*) {
  Ref items = Ref::steal(PySequence_List(self));
  return items ? Py_BuildValue("(O(N))", Py_TYPE(self), items.release()) : nullptr;
}

PyMethodDef size_methods[] = {
    {"numel", size_numel, METH_NOARGS, "numel() -> int\n\nThe product of the sizes."},
    {"__reduce__", size_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyNumberMethods size_as_number;
PySequenceMethods size_as_sequence;
PyMappingMethods size_as_mapping;

PyTypeObject* make_type() {
  size_as_number.nb_add = size_add;
  size_as_sequence.sq_repeat = size_repeat;
  size_as_mapping.mp_subscript = size_subscript;
  static PyTypeObject type;  // zero-initialised
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&type), 1);
  type.tp_name = "minidynamo.Size";
  type.tp_base = &PyTuple_Type;
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_doc = "The sizes of a tensor: a tuple of ints.";
  type.tp_new = size_new;
  type.tp_repr = size_repr;
  type.tp_methods = size_methods;
  type.tp_as_number = &size_as_number;
  type.tp_as_sequence = &size_as_sequence;
  type.tp_as_mapping = &size_as_mapping;
  check_status(PyType_Ready(&type));
  return &type;
}

}  // namespace

PyTypeObject* size_type() {
  static PyTypeObject* type = make_type();
  return type;
}

Ref size_from_dims(std::span<const Dim> dims) {
  Ref size = check(pv_new_tuple(size_type(), static_cast<Py_ssize_t>(dims.size())));
  for (size_t i = 0; i < dims.size(); ++i) {
    PyTuple_SET_ITEM(size.get(), static_cast<Py_ssize_t>(i), check(PyLong_FromLongLong(dims[i].value())).release());
  }
  return size;
}

}  // namespace md
