// torch's tensors as the engine sees them: reading, making, viewing and marking as written.
#pragma once
#include "guards/tensor_family.h"

namespace md::torch {

bool read(PyObject* object, TensorView& view);
bool is_writable(PyObject* object);
// torch's own memory: its allocator, resizable.
Ref empty(const TensorView& view);
// A view by torch's own as_strided: `_base` and version counter are those of the owner.
Ref alias(PyObject* owner, const TensorView& view, ViewTraits traits);
// False: the object is no torch.nn.Parameter.
bool parameter_version(PyObject* object, uint64_t& version);
// The version counter, which autograd compares.
int64_t counted_writes(PyObject* object);
void note_written(PyObject* object, int count);

}  // namespace md::torch
