// Primitives of 16-bit floats for processors without oneDNN support: converts the operands to
// float32 and rounds once at the end.
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

// Null for other dtypes, and if there is no such primitive of float32. Packed weights are float32.
OnednnPackingPtr make_widened_matmul(const MatmulSpec& spec);
OnednnPackingPtr make_widened_convolution(const ConvolutionSpec& spec);

}  // namespace md
