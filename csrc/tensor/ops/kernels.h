// Kernels of the op table, grouped by topic.
#pragma once
#include "tensor/ops/op_row.h"

namespace md {

#define MD_KERNEL(name) void name(const OpCall& call, std::span<Tensor> outs);
#include "tensor/ops/kernels.def"
#undef MD_KERNEL

}  // namespace md
