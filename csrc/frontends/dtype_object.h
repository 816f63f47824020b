// minidynamo.float32 ...: one Python object per dtype.
#pragma once
#include <optional>
#include <string>

#include "cpython/ref.h"
#include "tensor/dtype.h"

namespace md {

PyTypeObject* dtype_type();  // ready to use; lives as long as the process
BorrowedRef dtype_to_python(DType dtype);
// The DType of a dtype object, or of the Python types bool, int and float; nullopt for anything else.
std::optional<DType> dtype_from_python(BorrowedRef object);

}  // namespace md
