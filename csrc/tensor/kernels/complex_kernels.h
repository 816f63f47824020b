// Kernels of real numbers applied to the parts of complex ones.
#pragma once
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"

namespace md {

// The real parts (0) or the imaginary ones (1), as a view.
Tensor part_of_complex(const Tensor& tensor, int part);

// For a kernel that is linear in argument 0: each part of the result is that of the parts.
void run_on_parts(Kernel kernel, const OpCall& call, const Tensor& out);
// The sum of what the kernel computes of each part.
void run_on_sum_of_parts(Kernel kernel, const OpCall& call, const Tensor& out);
// out = the product over the call's dims.
void complex_product(const OpCall& call, const Tensor& out);
// out = left @ right: four real products, by `multiply`.
void multiply_complex(const Tensor& left, const Tensor& right, const Tensor& out,
                      void (*multiply)(const Tensor& left, const Tensor& right, const Tensor& out));

}  // namespace md
