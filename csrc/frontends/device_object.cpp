#include "frontends/device_object.h"

#include <string_view>

#include "base/error.h"

namespace md {
namespace {

struct DeviceObject {
  PyObject_HEAD int index;  // -1: none
};

int index_of(PyObject* self) { return reinterpret_cast<DeviceObject*>(self)->index; }

// Parses a CPU device; throws Error(Runtime) for other devices.
int parse_device(std::string_view text, const std::string& what) {
  if (text == "cpu") return -1;
  if (text == "cpu:0") return 0;
  raise(ErrorKind::Runtime, what, ": the only device is 'cpu', got '", std::string(text), "'");
}

PyObject* make_device(PyTypeObject* type, int index) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) reinterpret_cast<DeviceObject*>(self)->index = index;
  return self;
}

PyObject* device_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type", "index", nullptr};
  PyObject* text = nullptr;
  int index = -1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|i:device", const_cast<char**>(names), &text, &index))
    return nullptr;
  if (Py_TYPE(text) == type) return make_device(type, index_of(text));
  if (!PyUnicode_Check(text)) {
    return PyErr_Format(PyExc_TypeError, "device(): argument 'type' must be str or device, not %s",
                        Py_TYPE(text)->tp_name);
  }
  Py_ssize_t length = 0;
  const char* chars = PyUnicode_AsUTF8AndSize(text, &length);
  if (chars == nullptr) return nullptr;
  try {
    int parsed = parse_device({chars, static_cast<size_t>(length)}, "device()");
    if (index > 0) raise(ErrorKind::Runtime, "device(): the only device is 'cpu', got index ", index);
    return make_device(type, index >= 0 ? index : parsed);
  } catch (const Error& error) {
    return PyErr_Format(PyExc_RuntimeError, "%s", error.what());
  }
}

PyObject* device_repr(PyObject* self) {
  if (index_of(self) < 0) return PyUnicode_FromString("device(type='cpu')");
  return PyUnicode_FromFormat("device(type='cpu', index=%d)", index_of(self));
}
PyObject* device_str(PyObject* self) { return PyUnicode_FromString(index_of(self) < 0 ? "cpu" : "cpu:0"); }

Py_hash_t device_hash(PyObject* self) { return 0x6370750 + index_of(self); }

PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || Py_TYPE(a) != Py_TYPE(b)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((index_of(a) == index_of(b)) == (op == Py_EQ));
}

PyObject* device_reduce(PyObject* self, PyObject*) {
  return Py_BuildValue("(O(s))", Py_TYPE(self), index_of(self) < 0 ? "cpu" : "cpu:0");
}

PyObject* get_type(PyObject*, void*) { return PyUnicode_FromString("cpu"); }
PyObject* get_index(PyObject* self, void*) {
  if (index_of(self) < 0) Py_RETURN_NONE;
  return PyLong_FromLong(index_of(self));
}

PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef device_getset[] = {
    {"type", get_type, nullptr, nullptr, nullptr},
    {"index", get_index, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyTypeObject* make_type() {
  static PyTypeObject type;  // zero-initialised
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&type), 1);
  type.tp_name = "minidynamo.device";
  type.tp_basicsize = sizeof(DeviceObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_doc = "device(type, index=None)\n\nWhere a tensor is: always the CPU.";
  type.tp_new = device_new;
  type.tp_repr = device_repr;
  type.tp_str = device_str;
  type.tp_hash = device_hash;
  type.tp_richcompare = device_compare;
  type.tp_methods = device_methods;
  type.tp_getset = device_getset;
  check_status(PyType_Ready(&type));
  return &type;
}

}  // namespace

PyTypeObject* device_type() {
  static PyTypeObject* type = make_type();
  return type;
}

BorrowedRef cpu_device() {
  static PyObject* cpu = check(make_device(device_type(), -1)).release();
  return cpu;
}

std::string device_from_python(BorrowedRef object, const std::string& what) {
  if (object.get() == Py_None || object.type() == device_type()) return "cpu";
  if (!PyUnicode_Check(object.get())) {
    raise(ErrorKind::Type, what, " must be device or str, not ", object.type()->tp_name);
  }
  Py_ssize_t length = 0;
  const char* chars = PyUnicode_AsUTF8AndSize(object, &length);
  if (chars == nullptr) throw PythonError();
  parse_device({chars, static_cast<size_t>(length)}, what);
  return "cpu";
}

}  // namespace md
