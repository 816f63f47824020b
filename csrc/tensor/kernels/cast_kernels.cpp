// Copies, with a conversion if the dtypes differ: clone, cast, to, contiguous, reshape.
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/simd/copy.h"

namespace md {

void copy_kernel(const OpCall& call, std::span<Tensor> outs) { copy_elements(tensor_arg(call, 0), outs[0]); }

}  // namespace md
