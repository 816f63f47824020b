// Saved tensors in Python: what autograd.Function saves, and the hooks that pack them.
#pragma once
#include <vector>

#include "cpython/ref.h"

namespace md {

// _SavedTensor, a tensor that a Function's node saved.
BorrowedRef saved_tensor_type();
std::vector<PyMethodDef> saved_tensor_functions();

}  // namespace md
