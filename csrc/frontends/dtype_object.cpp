#include "frontends/dtype_object.h"

#include "base/error.h"

namespace md {
namespace {

// A dtype that programs name and compare, and that no tensor here has.
struct NamedDType {
  const char* name;
  int item_size;
  DTypeCategory category;
  bool is_signed;
};
constexpr NamedDType kNamedDTypes[] = {
    {"bits16", 2, DTypeCategory::Integer, false},
    {"bits1x8", 1, DTypeCategory::Integer, false},
    {"bits2x4", 1, DTypeCategory::Integer, false},
    {"bits4x2", 1, DTypeCategory::Integer, false},
    {"bits8", 1, DTypeCategory::Integer, false},
    {"complex32", 4, DTypeCategory::Complex, true},
    {"float4_e2m1fn_x2", 1, DTypeCategory::Floating, true},
    {"float8_e4m3fn", 1, DTypeCategory::Floating, true},
    {"float8_e4m3fnuz", 1, DTypeCategory::Floating, true},
    {"float8_e5m2", 1, DTypeCategory::Floating, true},
    {"float8_e5m2fnuz", 1, DTypeCategory::Floating, true},
    {"float8_e8m0fnu", 1, DTypeCategory::Floating, false},
    {"int1", 1, DTypeCategory::Integer, true},
    {"int2", 1, DTypeCategory::Integer, true},
    {"int3", 1, DTypeCategory::Integer, true},
    {"int4", 1, DTypeCategory::Integer, true},
    {"int5", 1, DTypeCategory::Integer, true},
    {"int6", 1, DTypeCategory::Integer, true},
    {"int7", 1, DTypeCategory::Integer, true},
    {"qint32", 4, DTypeCategory::Integer, true},
    {"qint8", 1, DTypeCategory::Integer, true},
    {"quint2x4", 1, DTypeCategory::Integer, false},
    {"quint4x2", 1, DTypeCategory::Integer, false},
    {"quint8", 1, DTypeCategory::Integer, false},
    {"uint1", 1, DTypeCategory::Integer, false},
    {"uint2", 1, DTypeCategory::Integer, false},
    {"uint3", 1, DTypeCategory::Integer, false},
    {"uint4", 1, DTypeCategory::Integer, false},
    {"uint5", 1, DTypeCategory::Integer, false},
    {"uint6", 1, DTypeCategory::Integer, false},
    {"uint7", 1, DTypeCategory::Integer, false},
};

struct DTypeObject {
  PyObject_HEAD DType dtype;
  const NamedDType* named;  // null for a dtype of tensors
};

const NamedDType* named_in(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->named; }

// Throws Error(NotImplemented) for a dtype that no tensor has.
DType dtype_of(PyObject* self) {
  if (const NamedDType* named = named_in(self))
    raise(ErrorKind::NotImplemented, "minidynamo has no tensors of the dtype ", named->name);
  return reinterpret_cast<DTypeObject*>(self)->dtype;
}

NamedDType facts_of(PyObject* self) {
  if (const NamedDType* named = named_in(self))
    return {named->name, named->item_size, named->category, named->is_signed};
  const DTypeRow& row = md::row(reinterpret_cast<DTypeObject*>(self)->dtype);
  return {row.name, static_cast<int>(row.size), row.category, row.is_signed};
}

PyObject* dtype_repr(PyObject* self) { return PyUnicode_FromFormat("minidynamo.%s", facts_of(self).name); }

// Pickled and copied by name: the module's attribute.
PyObject* dtype_reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(facts_of(self).name); }

PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromLong(facts_of(self).item_size); }
PyObject* get_is_floating_point(PyObject* self, void*) {
  return PyBool_FromLong(facts_of(self).category == DTypeCategory::Floating);
}
PyObject* get_is_complex(PyObject* self, void*) {
  return PyBool_FromLong(facts_of(self).category == DTypeCategory::Complex);
}
PyObject* get_is_signed(PyObject* self, void*) { return PyBool_FromLong(facts_of(self).is_signed); }

// The properties of a dtype that the package's Python code reads; None where no tensor has it.
PyObject* get_row(PyObject* self, void*) {
  if (named_in(self) != nullptr) Py_RETURN_NONE;
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
  PyObject* named[std::size(kNamedDTypes)];
};

PyObject* make_object(PyTypeObject* type, DType dtype, const NamedDType* named) {
  auto* object = PyObject_New(DTypeObject, type);
  if (object == nullptr) throw PythonError();
  object->dtype = dtype;
  object->named = named;
  return reinterpret_cast<PyObject*>(object);
}

// Never destroyed: the objects live as long as the process.
DTypeObjects* make_objects() {
  auto* made = new DTypeObjects;
  check_status(PyType_Ready(&made->type));
  for (int i = 0; i < kDTypeCount; ++i) made->objects[i] = make_object(&made->type, static_cast<DType>(i), nullptr);
  for (size_t i = 0; i < std::size(kNamedDTypes); ++i)
    made->named[i] = make_object(&made->type, DType::uint8, &kNamedDTypes[i]);
  return made;
}

DTypeObjects& dtype_objects() {
  static DTypeObjects* objects = make_objects();
  return *objects;
}

}  // namespace

PyTypeObject* dtype_type() { return &dtype_objects().type; }

BorrowedRef dtype_to_python(DType dtype) { return dtype_objects().objects[static_cast<int>(dtype)]; }

Ref named_dtypes() {
  Ref found = check(PyDict_New());
  for (size_t i = 0; i < std::size(kNamedDTypes); ++i)
    check_status(PyDict_SetItemString(found, kNamedDTypes[i].name, dtype_objects().named[i]));
  return found;
}

std::optional<DType> dtype_from_python(BorrowedRef object) {
  if (object.type() == dtype_type()) return dtype_of(object);
  if (object.get() == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::bool_;
  if (object.get() == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::int64;
  if (object.get() == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::float64;
  if (object.get() == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::complex128;
  return std::nullopt;
}

}  // namespace md
