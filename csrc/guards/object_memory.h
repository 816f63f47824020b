// Tensors over the memory of another library's objects, and objects for the tensors of a plan.
#pragma once
#include "guards/tensor_family.h"

namespace md {

// Shares the memory that the view describes and owns a reference to the object, which may be dropped on any
// thread.
Tensor tensor_over(PyObject* owner, const TensorView& view);
// The same for an object of empty() that is to become a result: object_of_result() returns it.
Tensor tensor_over_new(Ref object, const TensorView& view);

// The object of a result: a new one, the object that was made for it, or a view of the object whose memory it is in.
Ref object_of_result(const TensorFamily& family, Tensor result);

}  // namespace md
