// Which Python types count as tensors. minidynamo.Tensor is registered by bindings; no
// room above names a concrete type.
#pragma once
#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

struct TensorType {
  PyTypeObject* type;  // exact; static or kept alive by its module
  // The wrapped tensor; valid while the object lives. Replacing it increments tensor_changes().
  const Tensor& (*unwrap)(PyObject*);
  Ref (*wrap)(Tensor tensor);  // a new Python object
};

void register_tensor_type(const TensorType& type);
// nullptr if the exact type is not a tensor type. A linear search over a handful of types.
const TensorType* find_tensor_type(PyTypeObject* type);
inline const TensorType* tensor_type_of(BorrowedRef object) { return find_tensor_type(object.type()); }
// The type of graph outputs.
const TensorType& default_tensor_type();

}  // namespace md
