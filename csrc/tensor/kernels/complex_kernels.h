// Kernels of real numbers applied to the parts of complex ones.
#pragma once
#include <vector>

#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"

namespace md {

// The real parts (0) or the imaginary ones (1), as a view.
Tensor part_of_complex(const Tensor& tensor, int part);

// The sum of what the kernel computes of each part.
void run_on_sum_of_parts(Kernel kernel, const OpCall& call, const Tensor& out);
// out = the product over the call's dims.
void complex_product(const OpCall& call, const Tensor& out);
// out = the sum over these dims of a tensor that is contiguous along them, or their mean. False: it is not.
bool complex_sum(const Tensor& self, const std::vector<bool>& reduced, const Tensor& out, bool is_mean);
// The elements of out are running sums of those of self along a dim.
void complex_cumsum(const Tensor& self, int dim, const Tensor& out);
// The parts of complex numbers as a last dim.
Tensor with_parts(const Tensor& tensor);
// The same in a last dim of twice the size, which must be contiguous.
Tensor with_wide_rows(const Tensor& tensor);
// out = left @ right, by real products.
void multiply_complex(const Tensor& left, const Tensor& right, const Tensor& out,
                      void (*multiply)(const Tensor& left, const Tensor& right, const Tensor& out));

}  // namespace md
