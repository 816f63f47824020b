// Convolutions of narrow images channel by channel, with a vector of channels for each pixel: a block of padded pixels,
// which the caches keep, is turned to that layout, and its results back.
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

// Of a spec for which is_depthwise() holds; null where rows of pixels fill vectors as well.
OnednnPackingPtr make_depthwise_channels(const ConvolutionSpec& spec);

}  // namespace md
