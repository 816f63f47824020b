// Products with a matrix packed once for our own loops: for processors where oneDNN's
// primitives would copy it at each call.
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

// Null unless float32 and a single product. With spec.packs_weights; results do not depend on how rows are split.
OnednnPackingPtr make_packed_gemm(const MatmulSpec& spec);

}  // namespace md
