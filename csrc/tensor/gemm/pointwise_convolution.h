// Convolutions with kernels of one element: products of the weights with the channels of each image, which lie as the
// product reads them. oneDNN's convolutions would copy images into layouts of their own and back. In float32 also those
// whose windows are apart from each other: patches of an image.
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

// Whether they are faster than oneDNN's.
bool is_pointwise_product(const ConvolutionSpec& spec);

// Null unless is_pointwise_product(). Inputs as for make_convolution(); weights of float32 are read as they come: there
// is nothing to pack.
OnednnPackingPtr make_pointwise_convolution(const ConvolutionSpec& spec);

}  // namespace md
