// Kernels of the op table, by the idea that they implement.
#pragma once
#include "tensor/op_row.h"

namespace md {

#define MD_KERNEL(name) void name(const OpCall& call, std::span<Tensor> outs);
#include "tensor/kernels.def"
#undef MD_KERNEL

}  // namespace md
