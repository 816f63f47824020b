// minidynamo.float32 ...: one Python object per dtype.
#pragma once
#include <optional>
#include <string>

#include "cpython/ref.h"
#include "tensor/dtype.h"

namespace md {

PyTypeObject* dtype_type();  // ready to use; lives as long as the process
BorrowedRef dtype_to_python(DType dtype);
// {name: object} of the dtypes that programs name and compare, and that no tensor has.
Ref named_dtypes();
// The DType of a dtype object, or of the Python types bool, int and float; nullopt for anything else.
// Throws Error(NotImplemented) for one of named_dtypes().
std::optional<DType> dtype_from_python(BorrowedRef object);

}  // namespace md
