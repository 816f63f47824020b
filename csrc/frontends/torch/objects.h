// torch's objects for what a tensor has: dtypes, sizes, devices, memory formats; and ours in their place.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "cpython/ref.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace md::torch {

// Looks the objects up in torch; called once. Throws PythonError.
void load_objects(BorrowedRef module);

BorrowedRef dtype_object(DType dtype);
Ref size_object(std::span<const int64_t> sizes);
PyTypeObject* size_type();
BorrowedRef hash_function();  // torch.Tensor.__hash__
BorrowedRef device_object();  // torch.device("cpu")
BorrowedRef layout_object();  // torch.strided

// The struct sequence of torch in the place of a named tuple of a stand-in, with the same fields.
void add_results(PyTypeObject* own, PyTypeObject* theirs, const std::vector<std::string>& names);
// Our object in the place of torch's dtype, device or memory format; any other object itself.
Ref own_face(BorrowedRef object);
// torch's object in the place of ours.
Ref torch_face(BorrowedRef object);

// `maker(sizes, strides, dtype, requires_grad)` makes the objects of fake_object(); set once.
void set_fake_maker(BorrowedRef maker);
Ref fake_object(const TensorSpec& spec);

// object.view(dtype), of any item size.
Ref as_dtype(BorrowedRef object, DType dtype);
int64_t version_of(BorrowedRef object);  // its _version
// Raises the version by torch's own function.
void raise_version(PyObject* object, int count);
// What torch notes of the results of a function that returns several views: under a history they are not written.
void note_one_of_several(BorrowedRef view);

}  // namespace md::torch
