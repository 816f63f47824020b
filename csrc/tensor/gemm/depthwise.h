// Convolutions of float32 whose channels are convolved each by itself, in one or two dims: a channel's rows are padded
// into memory of the L1 cache, and each number of the kernel meets whole vectors of them; or, of narrow images, vectors
// of channels (depthwise_channels.h). A channel may have several results.
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

// Whether spec is such a convolution, and faster so than by oneDNN.
bool is_depthwise(const ConvolutionSpec& spec);

// Of such a convolution, or some of its channels. Inputs as for make_convolution(); the weights are read as they come:
// there is nothing to pack.
OnednnPackingPtr make_depthwise(const ConvolutionSpec& spec);

}  // namespace md
