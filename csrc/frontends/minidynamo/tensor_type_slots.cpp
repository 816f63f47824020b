// The type's own slots: construction, repr, hash, view attributes, and the list of all.
#include <string>

#include "cpython/imports.h"
#include "frontends/eager.h"
#include "frontends/minidynamo/fast_call.h"
#include "frontends/minidynamo/tensor_data.h"
#include "frontends/minidynamo/tensor_object.h"
#include "frontends/minidynamo/tensor_slots.h"
#include "frontends/operators.h"
#include "frontends/promotion.h"
#include "frontends/size_object.h"
#include "frontends/tensor_facts.h"

namespace md {
namespace {

// T of more than two dims reverses them all; of fewer, it is the tensor itself.
Tensor reversed_dims(const Tensor& tensor) {
  DimVec dims;
  for (int i = tensor->rank() - 1; i >= 0; --i) dims.push_back(i);
  return apply_named("permute", {tensor, dims});
}

bool all_ints(PyObject* args) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    if (!PyLong_Check(PyTuple_GET_ITEM(args, i))) return false;
  }
  return true;
}

// Tensor(2, 3), Tensor(Size([2, 3])): zeros of that size; Tensor(data): data in the default dtype.
Tensor construct(PyObject* args) {
  DType dtype = scalar_dtype(DTypeCategory::Floating);
  PyObject* first = PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : nullptr;
  if (first != nullptr && Py_IS_TYPE(first, size_type())) return construct(first);
  if (first != nullptr && (PyBool_Check(first) || PyFloat_Check(first)))
    raise(ErrorKind::Type, "Tensor(): data must be a sequence (got ", Py_TYPE(first)->tp_name, ")");
  if (first != nullptr && !all_ints(args)) return tensor_from_data(first, dtype);
  if (!all_ints(args)) raise(ErrorKind::Type, "Tensor() takes the sizes as ints, or one argument: 'data'");
  DimVec sizes;
  if (PyTuple_GET_SIZE(args) == 0) sizes.push_back(0);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    Py_ssize_t size = PyLong_AsSsize_t(PyTuple_GET_ITEM(args, i));
    if (size == -1 && PyErr_Occurred()) throw PythonError();
    sizes.push_back(size);
  }
  return apply_named("zeros", {sizes, dtype});
}

}  // namespace

Ref view_attribute(PyObject* self, const char* name) {
  const Tensor& tensor = tensor_of(self);
  if (std::string_view(name) == "T" && tensor->rank() != 2) return wrap_tensor(reversed_dims(tensor));
  const OpRow* row = find_tensor_view_attribute(name);
  MD_ASSERT(row != nullptr, name);
  std::vector<Arg> args = {tensor};
  fill_defaults(*row, args);
  Tensor view = apply_op(*row, args).at(0);
  if (row->is_argument(tensor.spec(), view.spec())) return Ref::share(self);
  return wrap_tensor(std::move(view));
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    if (kwargs != nullptr && PyDict_GET_SIZE(kwargs) > 0) {
      raise(ErrorKind::Type, "Tensor() takes no keyword arguments: use minidynamo.tensor");
    }
    return wrap_tensor_as(type, construct(args));
  });
}

PyObject* tensor_repr(PyObject* self) {
  return guarded(
      [&] { return check(PyObject_CallOneArg(imported("minidynamo._tensor.printing", "tensor_repr"), self)); });
}

void fill_tensor_slots(PyTypeObject& type) {
  type.tp_doc = "A strided array of numbers of one dtype. Made by minidynamo.tensor and by ops.";
  type.tp_new = tensor_new;
  type.tp_repr = tensor_repr;
  type.tp_hash = PyBaseObject_Type.tp_hash;
  type.tp_richcompare = tensor_compare;
  type.tp_iter = tensor_iter;
  type.tp_as_number = &tensor_as_number;
  type.tp_as_sequence = &tensor_as_sequence;
  type.tp_as_mapping = &tensor_as_mapping;
  type.tp_as_buffer = &tensor_as_buffer;
  type.tp_methods = tensor_methods();
  type.tp_getset = tensor_getset();
}

}  // namespace md
