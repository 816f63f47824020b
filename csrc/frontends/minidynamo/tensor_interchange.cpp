#include "frontends/minidynamo/tensor_interchange.h"

#include <cstring>

#include "base/error.h"
#include "frontends/eager.h"
#include "frontends/minidynamo/tensor_elements.h"
#include "frontends/minidynamo/tensor_object.h"

namespace md {
namespace {

Ref numpy_function(const char* name) {
  Ref numpy = check(PyImport_ImportModule("numpy"));
  return check(PyObject_GetAttrString(numpy, name));
}

// The array's base is a memoryview, which keeps the tensor alive.
Ref array_over(BorrowedRef tensor) {
  Ref view = check(PyMemoryView_FromObject(tensor));
  return check(PyObject_CallOneArg(numpy_function("asarray"), view));
}

}  // namespace

Tensor alias_of(const Tensor& tensor) { return apply_named("detach", {tensor}); }

Ref tensor_to_numpy(BorrowedRef self, bool force) {
  const Tensor& tensor = tensor_of(self);
  require_data(tensor, "numpy");
  if (row(tensor->dtype()).names.numpy == nullptr)
    raise(ErrorKind::Type, "numpy(): Got unsupported ScalarType BFloat16");
  if (!tensor.requires_grad()) return array_over(self);
  if (!force) {
    raise(ErrorKind::Runtime, "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
  }
  return array_over(wrap_tensor(alias_of(tensor)));
}

Ref tensor_to_array(BorrowedRef self, BorrowedRef dtype, BorrowedRef copy) {
  Ref array = tensor_to_numpy(self, false);
  bool wants_copy = copy && copy.get() != Py_None && PyObject_IsTrue(copy) == 1;
  if (dtype && dtype.get() != Py_None) {
    Ref method = check(PyObject_GetAttrString(array, "astype"));
    Ref args = check(PyTuple_Pack(1, dtype.get()));
    Ref kwargs = check(Py_BuildValue("{s:O}", "copy", wants_copy ? Py_True : Py_False));
    return check(PyObject_Call(method, args, kwargs));
  }
  return wants_copy ? check(PyObject_CallMethod(array, "copy", nullptr)) : array;
}

Ref tensor_to_bytes(const Tensor& tensor) {
  Tensor packed = tensor->is_contiguous() ? tensor : apply_named("contiguous", {tensor});
  int64_t bytes = packed->numel() * static_cast<int64_t>(item_size(packed->dtype()));
  return check(PyBytes_FromStringAndSize(packed.data<const char>(), bytes));
}

}  // namespace md
