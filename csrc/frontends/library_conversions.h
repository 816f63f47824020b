// Functions that make a tensor of one library of a tensor of another, over the same memory: from_numpy(),
// tensor.numpy().
#pragma once
#include "guards/tensor_family.h"

namespace md {

struct LibraryConversion {
  PyObject* function;  // never released
  const TensorFamily* from;
  const TensorFamily* to;
};

// The function takes one tensor. Families are kept by their rows; the first entry of a function stays.
void add_library_conversion(BorrowedRef function, const TensorFamily& from, const TensorFamily& to);
// Null: there is none.
const LibraryConversion* find_library_conversion(const PyObject* function);
const LibraryConversion* find_library_conversion(const TensorFamily& from, const TensorFamily& to);

}  // namespace md
