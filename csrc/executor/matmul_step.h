// Matrix products in pieces, each followed by its pointwise nodes while the result is still in the cache.
#pragma once
#include "executor/epilogue.h"
#include "executor/matmul_problem.h"
#include "tensor/gemm/split_matmul.h"

namespace md {

bool is_product(const Node& node);
// `step` is null, with the reason in `note`, if there is no such product for these shapes.
LoweredStep lower_product(const Group& group, LoweringContext& context);

// An anchor group whose anchor is a product, fully determined except for how it is split.
struct ProductPart {
  MatmulProblem problem;
  int a = -1, b = -1, bias = -1, product = -1;  // value numbers; bias is -1 if there is none
  Epilogue epilogue;
  std::vector<int> touched;
  Work work;  // of both
  ReducedPrecision precision;
  bool b_is_weight = false;  // which may be packed, and in 8 bits
  std::string text;          // "linear + relu -> relu"
  // Where sizes change, null otherwise: the anchor. Then also whether b keeps its own.
  const Node* anchor = nullptr;
  bool keeps_b = false;

  // As Step::take_sizes(): all but how it is split.
  bool take_sizes(const Layout& layout);
  // Of the product with b packed, and with both operands as they come; Float32: as always.
  Precision packed_precision() const;
  Precision plain_precision() const;
  Extents extents() const;
  // "linear + relu -> relu (1 x 64 x 48 x 32)"
  std::string sized_text() const;
};
ProductPart prepare_product(const Group& group, LoweringContext& context);

}  // namespace md
