// Convolutions of float32 with kernels of 3 x 3 as products of 16 numbers for each 2 x 2 results, not 36: F(2 x 2, 3 x 3).
//
// What a result is made of are sums of what its window and its kernel have, so its error is as large as that of the direct
// sum where both are of one magnitude. Infinities and NaNs would spread within a kernel's window: where a result is not
// finite the image is convolved by oneDNN.
// Source: A. Lavin, S. Gray, Fast algorithms for convolutional neural networks, CVPR 2016 (arXiv:1509.09308).
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

// Null where config.winograd is false, or oneDNN's convolution is as fast. Inputs as make_convolution's.
OnednnPackingPtr make_winograd(const ConvolutionSpec& spec);

}  // namespace md
