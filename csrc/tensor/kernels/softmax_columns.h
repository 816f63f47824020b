// softmax and log_softmax along a dim that is not the last one.
#pragma once
#include "tensor/tensor.h"

namespace md {

// Computes columns that are next to each other together. False, and nothing done, where they are not or are few.
bool softmax_columns(const Tensor& self, const Tensor& out, int dim, bool logarithm);

}  // namespace md
