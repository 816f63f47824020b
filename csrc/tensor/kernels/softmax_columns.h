// softmax, log_softmax and logsumexp along a dim that is not the last one.
#pragma once
#include "tensor/tensor.h"

namespace md {

enum class ColumnResult : uint8_t { Softmax, LogSoftmax, LogSumExp };

// Computes columns that are next to each other together. False, and nothing done, where they are not or are few. out is
// contiguous; of LogSumExp without the dim.
bool softmax_columns(const Tensor& self, const Tensor& out, int dim, ColumnResult result);

// The same of lines in any layout, for which ColumnBlocks::pay(); out has the dim.
void softmax_blocks(const Tensor& self, const Tensor& out, int dim, ColumnResult result);

}  // namespace md
