// Convolutions of which each window is a whole image, as those behind a mean over an image are: the images, as rows,
// times the weights, read as they come. oneDNN's convolutions take several times as long to read weights that no cache
// holds.
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

// Whether it is such a convolution of float32.
bool is_image_product(const ConvolutionSpec& spec);

// Null unless is_image_product(). Inputs as for make_convolution().
OnednnPackingPtr make_image_product(const ConvolutionSpec& spec);

}  // namespace md
