// minidynamo.Tensor: a plain CPython type around an md::Tensor.
#pragma once
#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

struct TensorObject {
  PyObject_HEAD Tensor tensor;  // always defined
  bool user_leaf;               // requires_grad was asked for by the user, so it is a leaf of the (future) tape
  PyObject* dict;       // owned; null until an attribute is set. Only an object with a dict is tracked by the collector
  PyObject* weak_list;  // kept by CPython
};

extern PyTypeObject tensor_type;  // ready after ready_tensor_type

inline bool is_tensor(BorrowedRef object) {
  return object.type() == &tensor_type || PyType_IsSubtype(object.type(), &tensor_type);
}
// The object must be a Tensor.
inline TensorObject* as_tensor_object(PyObject* object) { return reinterpret_cast<TensorObject*>(object); }
inline const Tensor& tensor_of(PyObject* object) { return as_tensor_object(object)->tensor; }

// The object becomes another tensor.
void replace_tensor(PyObject* object, Tensor tensor);

Ref wrap_tensor(Tensor tensor);
// A new object of a subtype (nn.Parameter) around the same tensor.
Ref wrap_tensor_as(PyTypeObject* type, Tensor tensor);

// Fills the slots from the op table, readies the type, registers it with the guards.
void ready_tensor_type();

}  // namespace md
