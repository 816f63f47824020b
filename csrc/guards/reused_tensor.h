// A tensor over the memory of another library's object, kept from one run of a region to the next.
#pragma once
#include "guards/tensor_family.h"

namespace md {

// Between runs it owns no object and has no memory. Requires the GIL.
class ReusedTensor {
 public:
  // As hold(), in the tensor of the last run if that had the same layout. Undefined: the object is not captured.
  Tensor take(const TensorFamily& family, BorrowedRef object);
  // Drops the reference to the object, and keeps the tensor unless something else shares it.
  void give_back(Tensor tensor);

 private:
  Tensor kept_;  // undefined while a run has it
};

}  // namespace md
