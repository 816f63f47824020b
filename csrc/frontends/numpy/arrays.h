// ndarrays and NumPy's scalars as the engine sees them: reading, making and viewing.
#pragma once
#include "guards/tensor_family.h"

namespace md::numpy {

// The witness of an array is whether it may be written.
bool read_array(PyObject* object, TensorView& view);
bool is_writable(PyObject* object);
// NumPy's own memory.
Ref empty(const TensorView& view);
// A view whose base is the owner, or the owner's base, as NumPy has it.
Ref alias(PyObject* owner, const TensorView& view, ViewTraits traits);
// An array that is not to be written; its base is the owner.
Ref over_memory(PyObject* owner, const TensorView& view);

// A scalar is a constant of rank 0.
bool read_scalar(PyObject* object, TensorView& view);
Ref scalar(Tensor tensor);

}  // namespace md::numpy
