#include "frontends/device_object.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <string_view>

#include "base/error.h"
#include "cpython/errors.h"

namespace md {
namespace {

// Types of devices that programs name; tensors are on the first alone.
constexpr std::string_view kTypes[] = {"cpu", "cuda", "xpu",  "mps",   "meta",   "mtia",         "hpu",
                                       "xla", "ipu",  "hip",  "maia",  "vulkan", "mkldnn",       "opengl",
                                       "ve",  "lazy", "fpga", "ideep", "opencl", "privateuseone"};

struct DeviceObject {
  PyObject_HEAD int type;  // in kTypes
  int index;               // -1: none
};

struct Device {
  int type = 0;
  int index = -1;
  bool operator==(const Device&) const = default;
};

Device device_of(PyObject* self) {
  auto* object = reinterpret_cast<DeviceObject*>(self);
  return {object->type, object->index};
}

std::string text_of_device(const Device& device) {
  std::string text(kTypes[device.type]);
  return device.index < 0 ? text : text + ":" + std::to_string(device.index);
}

// Throws Error(Runtime) for another text than "cuda", "cuda:1".
Device parse_device(std::string_view text) {
  size_t colon = text.find(':');
  auto* type = std::ranges::find(kTypes, text.substr(0, colon));
  if (type == std::end(kTypes)) {
    std::string all;
    for (std::string_view each : kTypes) all += str_cat(all.empty() ? "" : ", ", std::string(each));
    raise(ErrorKind::Runtime, "Expected one of ", all,
          " device type at start of device string: ", std::string(text.substr(0, colon)));
  }
  Device device{static_cast<int>(type - kTypes), -1};
  if (colon == std::string_view::npos) return device;
  std::string_view digits = text.substr(colon + 1);
  auto [end, error] = std::from_chars(digits.begin(), digits.end(), device.index);
  bool is_number = error == std::errc() && end == digits.end() && device.index >= 0;
  if (!is_number || (digits.size() > 1 && digits[0] == '0'))
    raise(ErrorKind::Runtime, "Invalid device string: '", std::string(text), "'");
  return device;
}

[[noreturn]] void refuse_device(const Device& device, const std::string& what) {
  raise(ErrorKind::Runtime, what, ": the only device is 'cpu', got '", text_of_device(device), "'");
}

void require_cpu(const Device& device, const std::string& what) {
  if (device.type != 0 || device.index > 0) refuse_device(device, what);
}

PyObject* make_device(PyTypeObject* type, const Device& device) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  reinterpret_cast<DeviceObject*>(self)->type = device.type;
  reinterpret_cast<DeviceObject*>(self)->index = device.index;
  return self;
}

PyObject* device_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type", "index", nullptr};
  PyObject* text = nullptr;
  PyObject* given = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &text, &given))
    return nullptr;
  if (Py_TYPE(text) == type) return make_device(type, device_of(text));
  if (!PyUnicode_Check(text)) {
    return PyErr_Format(PyExc_TypeError, "device(): argument 'type' must be str or device, not %s",
                        Py_TYPE(text)->tp_name);
  }
  long index = given == Py_None ? -1 : PyLong_AsLong(given);
  if (index == -1 && PyErr_Occurred()) return nullptr;
  if (index > INT_MAX) return PyErr_Format(PyExc_OverflowError, "device(): index %ld is too large", index);
  Py_ssize_t length = 0;
  const char* chars = PyUnicode_AsUTF8AndSize(text, &length);
  if (chars == nullptr) return nullptr;
  try {
    Device device = parse_device({chars, static_cast<size_t>(length)});
    if (given != Py_None && device.index >= 0)
      raise(ErrorKind::Runtime, "type (string) must not include an index because index was passed explicitly: ", chars);
    if (given != Py_None && index < 0) raise(ErrorKind::Runtime, "Device index must not be negative");
    if (given != Py_None) device.index = static_cast<int>(index);
    return make_device(type, device);
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

PyObject* device_repr(PyObject* self) {
  Device device = device_of(self);
  std::string type(kTypes[device.type]);
  if (device.index < 0) return PyUnicode_FromFormat("device(type='%s')", type.c_str());
  return PyUnicode_FromFormat("device(type='%s', index=%d)", type.c_str(), device.index);
}
PyObject* device_str(PyObject* self) { return PyUnicode_FromString(text_of_device(device_of(self)).c_str()); }

Py_hash_t device_hash(PyObject* self) { return 0x6370750 + device_of(self).type * 1024 + device_of(self).index; }

PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || Py_TYPE(a) != Py_TYPE(b)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_of(a) == device_of(b)) == (op == Py_EQ));
}

PyObject* device_reduce(PyObject* self, PyObject*) {
  return Py_BuildValue("(O(s))", Py_TYPE(self), text_of_device(device_of(self)).c_str());
}

// As a context: new tensors are on the CPU anyway.
PyObject* device_enter(PyObject* self, PyObject*) {
  try {
    require_cpu(device_of(self), "device()");
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
  return Py_NewRef(self);
}
PyObject* device_exit(PyObject*, PyObject*) { Py_RETURN_NONE; }

PyObject* get_type(PyObject* self, void*) {
  std::string_view type = kTypes[device_of(self).type];
  return PyUnicode_FromStringAndSize(type.data(), static_cast<Py_ssize_t>(type.size()));
}
PyObject* get_index(PyObject* self, void*) {
  if (device_of(self).index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(device_of(self).index);
}

PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, nullptr},
    {"__enter__", device_enter, METH_NOARGS, nullptr},
    {"__exit__", device_exit, METH_VARARGS, nullptr},
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
  type.tp_doc =
      "device(type, index=None)\n\nWhere a tensor is: always the CPU. Other devices can be named and compared.";
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
  static PyObject* cpu = check(make_device(device_type(), {})).release();
  return cpu;
}

bool is_cpu_device(BorrowedRef object) { return object.type() == device_type() && device_of(object).type == 0; }

std::string device_from_python(BorrowedRef object, const std::string& what) {
  if (object.get() == Py_None) return "cpu";
  if (object.type() == device_type()) {
    require_cpu(device_of(object), what);
    return "cpu";
  }
  if (!PyUnicode_Check(object.get())) {
    raise(ErrorKind::Type, what, " must be device or str, not ", object.type()->tp_name);
  }
  Py_ssize_t length = 0;
  const char* chars = PyUnicode_AsUTF8AndSize(object, &length);
  if (chars == nullptr) throw PythonError();
  require_cpu(parse_device({chars, static_cast<size_t>(length)}), what);
  return "cpu";
}

}  // namespace md
