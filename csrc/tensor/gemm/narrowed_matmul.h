// Products of float32 whose operands are rounded on the way: to bfloat16, or to bytes with a step for each row of a and
// each column of b. Results depend neither on how rows and columns are split nor on when b was packed.
#pragma once
#include "tensor/gemm/onednn.h"

namespace md {

// Null where oneDNN has no such primitive. For Int8: spec.packs_weights, and at most kMostByteProducts summed.
OnednnPackingPtr make_narrowed_matmul(const MatmulSpec& spec);

// Of which sums of products of bytes do not overflow.
inline constexpr int64_t kMostByteProducts = 65536;

}  // namespace md
