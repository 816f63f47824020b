// minidynamo.Size: a tuple of ints with numel(), the type of x.shape.
#pragma once
#include <span>

#include "cpython/ref.h"
#include "tensor/dim.h"

namespace md {

PyTypeObject* size_type();                      // a subclass of tuple; lives as long as the process
Ref size_from_dims(std::span<const Dim> dims);  // dims must be concrete

}  // namespace md
