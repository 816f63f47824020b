// Primitives of 16-bit floats on processors for which oneDNN has none: the operands become float32, one rounding ends it.
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

// Null for other dtypes, and where there is no such primitive of float32. Packed weights are float32.
OnednnPackingPtr make_widened_matmul(const MatmulSpec& spec);
OnednnPackingPtr make_widened_convolution(const ConvolutionSpec& spec);

}  // namespace md
