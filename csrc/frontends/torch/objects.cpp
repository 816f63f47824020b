#include "frontends/torch/objects.h"

#include <array>
#include <cstring>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "cpython/text.h"
#include "cpython/tuples.h"
#include "frontends/device_object.h"
#include "frontends/dtype_object.h"
#include "frontends/memory_format_object.h"
#include "frontends/size_object.h"
#include "frontends/torch/library.h"
#include "guards/constants.h"
#include "guards/guarded_ref.h"
#include "guards/return_types.h"

namespace md::torch {
namespace {

constexpr const char* kFormats[] = {"contiguous_format", "channels_last", "channels_last_3d", "preserve_format"};

// Never released.
struct Objects {
  std::array<PyObject*, kDTypeCount> dtypes;
  std::array<PyObject*, std::size(kFormats)> formats;
  PyObject *device, *strided, *increment_version, *set_creation, *several_outputs, *return_types, *hash_function,
      *fake_maker;
  PyTypeObject *size, *dtype_type, *device_type, *format_type;
};
Objects objects;

PyObject* attribute(BorrowedRef object, const char* name) {
  return check(PyObject_GetAttrString(object, name)).release();
}
PyTypeObject* type_attribute(BorrowedRef object, const char* name) {
  return reinterpret_cast<PyTypeObject*>(attribute(object, name));
}

template <typename Table>
int index_in(const Table& table, BorrowedRef object) {
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i] == object.get()) return static_cast<int>(i);
  return -1;
}

// "cpu" and "cpu:0".
bool is_cpu(BorrowedRef device) {
  Ref text = check(PyObject_Str(device));
  return text_of(text).substr(0, 3) == "cpu";
}

}  // namespace

void load_objects(BorrowedRef module) {
  for (int i = 0; i < kDTypeCount; ++i) {
    auto dtype = static_cast<DType>(i);
    objects.dtypes[static_cast<size_t>(i)] = is_captured(dtype) ? attribute(module, row(dtype).name) : nullptr;
  }
  for (size_t i = 0; i < std::size(kFormats); ++i) objects.formats[i] = attribute(module, kFormats[i]);
  objects.size = type_attribute(module, "Size");
  objects.dtype_type = type_attribute(module, "dtype");
  objects.device_type = type_attribute(module, "device");
  objects.format_type = type_attribute(module, "memory_format");
  objects.hash_function = attribute(check(PyObject_GetAttrString(module, "Tensor")), "__hash__");
  objects.strided = attribute(module, "strided");
  objects.return_types = attribute(module, "return_types");
  objects.device = check(PyObject_CallFunction(reinterpret_cast<PyObject*>(objects.device_type), "s", "cpu")).release();
  objects.increment_version = attribute(check(PyObject_GetAttrString(module, "_C")), "_increment_version");
  Ref autograd = check(PyObject_GetAttrString(check(PyObject_GetAttrString(module, "_C")), "_autograd"));
  objects.set_creation = attribute(autograd, "_set_creation_meta");
  objects.several_outputs = attribute(check(PyObject_GetAttrString(autograd, "CreationMeta")), "MULTI_OUTPUT_NODE");
  for (PyTypeObject* type : {objects.dtype_type, objects.device_type, objects.format_type})
    register_constant_type(type);
  register_constant_type(Py_TYPE(objects.strided));
  // Compared by what they describe.
  for (const char* name : {"finfo", "iinfo"}) register_constant_type(type_attribute(module, name));
  register_value_type(objects.size);
}

BorrowedRef dtype_object(DType dtype) { return objects.dtypes[static_cast<size_t>(dtype)]; }
PyTypeObject* size_type() { return objects.size; }
BorrowedRef hash_function() { return objects.hash_function; }
BorrowedRef device_object() { return objects.device; }
BorrowedRef layout_object() { return objects.strided; }

Ref size_object(std::span<const int64_t> sizes) {
  return check(PyObject_CallOneArg(reinterpret_cast<PyObject*>(objects.size), tuple_of(sizes)));
}

Ref own_face(BorrowedRef object) {
  PyTypeObject* type = object.type();
  if (type == objects.dtype_type) {
    int at = index_in(objects.dtypes, object);
    if (at >= 0) return Ref::share(dtype_to_python(static_cast<DType>(at)));
  } else if (type == objects.device_type) {
    if (is_cpu(object)) return Ref::share(cpu_device());
  } else if (type == objects.format_type) {
    int at = index_in(objects.formats, object);
    if (at >= 0) return Ref::share(memory_format_object(kFormats[at]));
  }
  return Ref::share(object);
}

namespace {

// By the named tuple of a stand-in; filled under the GIL and never destroyed.
std::unordered_map<PyTypeObject*, PyTypeObject*>& named_results() {
  static auto* all = new std::unordered_map<PyTypeObject*, PyTypeObject*>;
  return *all;
}

// torch.return_types.max in the place of minidynamo.return_types.max; null: torch has none.
Ref return_type(PyTypeObject* own) {
  const char* name = std::strrchr(own->tp_name, '.') + 1;
  Ref theirs = Ref::steal(PyObject_GetAttrString(objects.return_types, name));
  if (!theirs || !PyType_Check(theirs.get())) {
    PyErr_Clear();
    return nullptr;
  }
  add_return_type(reinterpret_cast<PyTypeObject*>(theirs.get()), own);
  return theirs;
}

// Of a type: that of torch's results if results of ours have it.
Ref result_face(PyTypeObject* own) {
  if (auto found = named_results().find(own); found != named_results().end())
    return Ref::share(reinterpret_cast<PyObject*>(found->second));
  Ref theirs = is_return_type(own) ? return_type(own) : Ref();
  return theirs ? std::move(theirs) : Ref::share(reinterpret_cast<PyObject*>(own));
}

}  // namespace

void add_results(PyTypeObject* own, PyTypeObject* theirs, const std::vector<std::string>& names) {
  Py_INCREF(own);
  add_return_type(theirs, names);
  named_results()[own] = theirs;
}

Ref torch_face(BorrowedRef object) {
  PyTypeObject* type = object.type();
  if (PyType_Check(object.get())) return result_face(reinterpret_cast<PyTypeObject*>(object.get()));
  if (type == md::size_type()) return check(PyObject_CallOneArg(reinterpret_cast<PyObject*>(objects.size), object));
  if (type == md::dtype_type()) return Ref::share(dtype_object(*dtype_from_python(object)));
  if (md::is_cpu_device(object)) return Ref::share(device_object());
  if (type == md::memory_format_type())
    for (size_t i = 0; i < std::size(kFormats); ++i)
      if (kFormats[i] == memory_format_name(object)) return Ref::share(objects.formats[i]);
  return Ref::share(object);
}

void set_fake_maker(BorrowedRef maker) { objects.fake_maker = Py_NewRef(maker.get()); }

Ref fake_object(const TensorSpec& spec) {
  std::vector<int64_t> sizes, strides;
  for (Dim size : spec.sizes) sizes.push_back(size.value());
  for (Dim stride : spec.strides) strides.push_back(stride.value());
  return check(PyObject_CallFunctionObjArgs(objects.fake_maker, tuple_of(sizes).get(), tuple_of(strides).get(),
                                            dtype_object(spec.dtype).get(), spec.requires_grad ? Py_True : Py_False,
                                            nullptr));
}

Ref as_dtype(BorrowedRef object, DType dtype) {
  static PyObject* const kView = PyUnicode_InternFromString("view");
  return check(PyObject_CallMethodOneArg(object, kView, dtype_object(dtype)));
}

int64_t version_of(BorrowedRef object) { return PyLong_AsLongLong(check(PyObject_GetAttrString(object, "_version"))); }

void raise_version(PyObject* object, int count) {
  Ref list = check(PyList_New(1));
  PyList_SET_ITEM(list.get(), 0, Py_NewRef(object));
  for (int i = 0; i < count; ++i) check(PyObject_CallOneArg(objects.increment_version, list));
}

void note_one_of_several(BorrowedRef view) {
  check(PyObject_CallFunctionObjArgs(objects.set_creation, view.get(), objects.several_outputs, nullptr));
}

}  // namespace md::torch
