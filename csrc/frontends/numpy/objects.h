// What stands for dtypes, sizes and functions in NumPy's programs.
#pragma once
#include <span>

#include "cpython/ref.h"
#include "tensor/dtype.h"

namespace md::numpy {

BorrowedRef dtype_object(DType dtype);  // null: NumPy has none
Ref size_object(std::span<const int64_t> sizes);
// dtypes: NumPy's objects and scalar types, and int, float and bool, are ours in what stands in for a function.
Ref own_face(BorrowedRef object);
Ref numpy_face(BorrowedRef object);

}  // namespace md::numpy
