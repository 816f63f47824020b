// Which Python types count as tensors. minidynamo.Tensor is registered from bindings; nothing above names a concrete type.
#pragma once
#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

struct TensorType {
  PyTypeObject* type;  // exact; static or kept alive by its module
  // The tensor inside; valid while the object lives. That it becomes another one is counted (tensor_changes).
  const Tensor& (*unwrap)(PyObject*);
  Ref (*wrap)(Tensor tensor);  // a new Python object
};

void register_tensor_type(const TensorType& type);
// nullptr when the exact type is none. A handful of types: a linear look.
const TensorType* find_tensor_type(PyTypeObject* type);
inline const TensorType* tensor_type_of(BorrowedRef object) { return find_tensor_type(object.type()); }
// The type that outputs get.
const TensorType& default_tensor_type();

}  // namespace md
