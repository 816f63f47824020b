#include "frontends/dtype_object.h"

namespace md {
namespace {

struct DTypeObject {
  PyObject_HEAD DType dtype;
};

DType dtype_of(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->dtype; }

PyObject* dtype_repr(PyObject* self) { return PyUnicode_FromFormat("minidynamo.%s", row(dtype_of(self)).name); }

// Pickled and copied by name: the module's attribute.
PyObject* dtype_reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(row(dtype_of(self)).name); }

PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(item_size(dtype_of(self))); }
PyObject* get_is_floating_point(PyObject* self, void*) { return PyBool_FromLong(is_floating(dtype_of(self))); }
PyObject* get_is_complex(PyObject* self, void*) { return PyBool_FromLong(is_complex(dtype_of(self))); }
PyObject* get_is_signed(PyObject* self, void*) { return PyBool_FromLong(row(dtype_of(self)).is_signed); }

// The properties of a dtype that the package's Python code reads.
PyObject* get_row(PyObject* self, void*) {
  const DTypeRow& row = md::row(dtype_of(self));
  return Py_BuildValue("{s:z,s:z,s:i,s:i,s:i}", "torch", row.names.torch, "safetensors", row.names.safetensors,
                       "digits", int{row.digits}, "exponent_bits", int{row.exponent_bits}, "size", int{row.size});
}

PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef dtype_getset[] = {
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"is_floating_point", get_is_floating_point, nullptr, nullptr, nullptr},
    {"is_complex", get_is_complex, nullptr, nullptr, nullptr},
    {"is_signed", get_is_signed, nullptr, nullptr, nullptr},
    {"_row", get_row, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyTypeObject make_type() {
  PyTypeObject type{};
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&type), 1);
  type.tp_name = "minidynamo.dtype";
  type.tp_basicsize = sizeof(DTypeObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_doc = "The type of a tensor's elements.";
  type.tp_repr = dtype_repr;
  type.tp_methods = dtype_methods;
  type.tp_getset = dtype_getset;
  return type;
}

struct DTypeObjects {
  PyTypeObject type = make_type();
  PyObject* objects[kDTypeCount];
};

// Never destroyed: the objects live as long as the process.
DTypeObjects* make_objects() {
  auto* made = new DTypeObjects;
  check_status(PyType_Ready(&made->type));
  for (int i = 0; i < kDTypeCount; ++i) {
    auto* object = PyObject_New(DTypeObject, &made->type);
    if (object == nullptr) throw PythonError();
    object->dtype = static_cast<DType>(i);
    made->objects[i] = reinterpret_cast<PyObject*>(object);
  }
  return made;
}

DTypeObjects& dtype_objects() {
  static DTypeObjects* objects = make_objects();
  return *objects;
}

}  // namespace

PyTypeObject* dtype_type() { return &dtype_objects().type; }

BorrowedRef dtype_to_python(DType dtype) { return dtype_objects().objects[static_cast<int>(dtype)]; }

std::optional<DType> dtype_from_python(BorrowedRef object) {
  if (object.type() == dtype_type()) return dtype_of(object);
  if (object.get() == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::bool_;
  if (object.get() == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::int64;
  if (object.get() == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::float64;
  if (object.get() == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::complex128;
  return std::nullopt;
}

}  // namespace md
