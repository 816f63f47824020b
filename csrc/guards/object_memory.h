// Tensors over the memory of another library's objects, and objects for the tensors of a plan.
#pragma once
#include <span>

#include "guards/tensor_family.h"

namespace md {

// Shares the memory that the view describes and owns a reference to the object, which may be dropped on any
// thread.
Tensor tensor_over(PyObject* owner, const TensorView& view);
// Of a tensor of tensor_over(): without the reference to its owner and without memory, to be given others again;
// undefined if something else shares it, or may come to know of it. Requires the GIL.
Tensor without_owner(Tensor tensor);
// Such a tensor over the memory of an object with the same layout, of which it owns a reference.
Tensor tensor_over_again(Tensor tensor, BorrowedRef owner, void* data);
// The same without a reference: the caller owns the object while it uses the tensor. The memory counts as not shared.
Tensor tensor_over_frozen(PyObject* object, const TensorView& view);
// The same for an object of empty() that is to become a result: object_of_result() returns it.
Tensor tensor_over_new(Ref object, const TensorView& view);

// An object of empty() for a result with this layout, as tensor_over_new(); undefined if the library refuses. Takes the
// GIL where the thread does not hold it.
Tensor new_result(const TensorFamily& family, const TensorSpec& spec);
// The tensor of an object that is itself to become a result, whatever else it is; undefined if it is not captured.
Tensor tensor_of_result(PyObject* object);
// Whether the memory is known to be that of an object.
bool is_in_object(const Tensor& tensor);
// That object; null: it is none's.
BorrowedRef object_around(const Tensor& tensor);
// Whether the tensor is an object that was made for a result, not a view of one or of an input.
bool is_new_object(const TensorFamily& family, const Tensor& tensor);
// Raises the object's count of writes to at least this one.
void count_writes(const TensorFamily& family, BorrowedRef object, int64_t writes);
// A copy in an object of empty(), as tensor_over_new(). Throws PythonError if the library refuses.
Tensor in_new_object(const TensorFamily& family, const Tensor& tensor);
// The object that a tensor was held from, or one over the same memory where the library has views; else a copy.
Ref object_of_input(const TensorFamily& family, const Tensor& tensor);

// Outputs that lie in one memory of the plan's get one object of their library, in which the others are views.
// families: by output, null for our own; may be empty. Requires the GIL.
void move_shared_outputs(std::span<const TensorFamily* const> families, std::span<Tensor> outputs);

// The object of a result: a new one, the object that was made for it, or a view of the object whose memory it is in.
Ref object_of_result(const TensorFamily& family, Tensor result, ViewTraits traits = {});

}  // namespace md
