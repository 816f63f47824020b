#include "frontends/minidynamo/extension_api.h"

#include <minidynamo/extension_api.h>

#include "cpython/errors.h"
#include "frontends/minidynamo/tensor_object.h"

namespace md {

namespace {

// In the order of dtypes.def.
#define MD_DTYPE(name, ...) DType::name,
constexpr DType kOrder[] = {
#include "tensor/dtypes.def"
};
#undef MD_DTYPE
static_assert(kOrder[MINIDYNAMO_BOOL] == DType::bool_ && kOrder[MINIDYNAMO_INT64] == DType::int64 &&
              kOrder[MINIDYNAMO_BFLOAT16] == DType::bfloat16 && kOrder[MINIDYNAMO_FLOAT64] == DType::float64 &&
              kOrder[MINIDYNAMO_UINT16] == DType::uint16 && kOrder[MINIDYNAMO_UINT64] == DType::uint64 &&
              kOrder[MINIDYNAMO_COMPLEX64] == DType::complex64 && kOrder[MINIDYNAMO_COMPLEX128] == DType::complex128);

const Tensor& require_real(PyObject* object) {
  if (!is_tensor(object)) raise(ErrorKind::Type, "expected Tensor, got ", Py_TYPE(object)->tp_name);
  const Tensor& tensor = tensor_of(object);
  if (tensor->kind() != TensorKind::Real)
    raise(ErrorKind::Runtime, "a compiled extension was given a tensor without data: the call is traced");
  return tensor;
}

int view_tensor(PyObject* object, MinidynamoTensorView* view) {
  try {
    const Tensor& tensor = require_real(object);
    tensor->storage()->mark_lent();
    *view = {tensor->data(),  tensor->sizes(), tensor->strides(),
             tensor->numel(), tensor->rank(),  static_cast<MinidynamoDType>(tensor->dtype())};
    return 0;
  } catch (...) {
    set_error_from_current_exception();
    return -1;
  }
}

// The end of the writing is unknown: as for numpy(), packed copies of the values are not used any more.
void* mutable_data(PyObject* object) {
  try {
    const Tensor& tensor = require_real(object);
    if (tensor->storage()->read_only()) raise(ErrorKind::Runtime, "the memory of the tensor is read-only");
    tensor->storage()->mark_shared_with_outside();
    return tensor->data();
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

MinidynamoExtensionApi table = {MINIDYNAMO_EXTENSION_API_VERSION, view_tensor, mutable_data};

}  // namespace

Ref extension_api_capsule() { return check(PyCapsule_New(&table, MINIDYNAMO_EXTENSION_API_NAME, nullptr)); }

}  // namespace md
