// Convolutions of float32 with 3 x 3 kernels, with 16 instead of 36 products per 2 x 2 results: F(2 x 2, 3 x 3).
// The transforms add elements of the window and of the kernel, so the error is as large as that of the direct sum
// if those are of the same magnitude. Infinities and NaNs would spread within a window: if a result is not
// finite, oneDNN convolves the image. Source: A. Lavin, S. Gray, Fast algorithms for convolutional neural
// networks, CVPR 2016 (arXiv:1509.09308).
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

// Null if config.winograd is false, or if oneDNN's convolution is as fast. Inputs as for make_convolution().
OnednnPackingPtr make_winograd(const ConvolutionSpec& spec);

}  // namespace md
