// Products with a matrix that own loops have packed once: for processors where oneDNN's would copy it at each call.
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

// Null for what is not float32, or is several products. With spec.packs_weights; results do not depend on how rows are split.
OnednnPackingPtr make_packed_gemm(const MatmulSpec& spec);

}  // namespace md
