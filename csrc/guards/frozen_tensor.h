// A parameter of another library that the program has promised not to write (compile(options={"freeze": True})).
#pragma once
#include "guards/tensor_family.h"

namespace md {

// One tensor over the parameter's memory for all runs, so that what is derived from its contents stays with its
// storage.
class FrozenTensor {
 public:
  // Undefined if the object is no parameter. Neither this nor the tensor owns the object: the caller does while it uses
  // the tensor. A new one after the library has counted a write, or has moved the memory. Requires the GIL.
  Tensor of(const TensorFamily& family, BorrowedRef object);

 private:
  Ref weak_;
  uint64_t version_ = 0;
  Tensor tensor_;
};

}  // namespace md
