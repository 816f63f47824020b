// Products of float32 with a matrix packed once for our own loops: from AVX2 on, where they are as fast as oneDNN's,
// whose first primitive in a process takes 30 ms; and where oneDNN would copy the matrix at each call.
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

// Null unless float32 and a single product. With spec.packs_weights; results do not depend on how rows are split.
OnednnPackingPtr make_packed_gemm(const MatmulSpec& spec);

}  // namespace md
