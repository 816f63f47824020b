// minidynamo.Tensor: a static CPython type that wraps an md::Tensor.
#pragma once
#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

struct TensorObject {
  PyObject_HEAD Tensor tensor;  // always defined
  bool user_leaf;               // of fake and recording tensors: requires_grad was set by the user
  PyObject* grad;               // owned; the object of the gradient that was asked for or set last, or null
  PyObject* dict;               // owned; null until an attribute is set. Only objects with a dict are
                                // tracked by the garbage collector
  PyObject* weak_list;          // managed by CPython
};

extern PyTypeObject tensor_type;  // ready after ready_tensor_type

inline bool is_tensor(BorrowedRef object) {
  return object.type() == &tensor_type || PyType_IsSubtype(object.type(), &tensor_type);
}
// The object must be a Tensor.
inline TensorObject* as_tensor_object(PyObject* object) { return reinterpret_cast<TensorObject*>(object); }
inline const Tensor& tensor_of(PyObject* object) { return as_tensor_object(object)->tensor; }

// Replaces the wrapped tensor in place (resize_, set_).
void replace_tensor(PyObject* object, Tensor tensor);

Ref wrap_tensor(Tensor tensor);
// A new object of a subtype (nn.Parameter) that wraps the same tensor.
Ref wrap_tensor_as(PyTypeObject* type, Tensor tensor);

// Fills the slots from the op table and readies the type.
void ready_tensor_type();

}  // namespace md
