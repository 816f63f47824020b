// Shape rules: sizes, strides and dtypes of results, over Dim. One per kind of op; the rows of ops.def name them.
#pragma once
#include "tensor/ops/op_row.h"

namespace md {

#define MD_SHAPE_RULE(name) void name(const OpCall& call, std::vector<OutSpec>& outs);
#include "tensor/ops/shape_rules.def"
#undef MD_SHAPE_RULE

// dim counted from the end when negative, as 0 <= dim < max(rank, 1). Raises IndexError in torch's words.
int wrap_dim(const OpCall& call, int64_t dim, int rank);
// The reduced dims, as flags; an empty or missing list means all.
std::vector<bool> reduced_dims(const OpCall& call, const Arg& dims, int rank);
// Of any and all: as torch has it, an empty list there means no dims.
std::vector<bool> truth_reduced_dims(const OpCall& call);
// The p of norm as a number.
double norm_order(const OpCall& call);
bool is_nuclear_norm(const OpCall& call);
// Raises if the number is none that fits() the dtype. Known numbers only: kernels ask, shape rules cannot.
void require_fits(const OpCall& call, DType dtype, const Scalar& value);
// As a fill of the whole tensor.
void require_fill_fits(const OpCall& call, const Tensor& out, const Scalar& value);
// "; shapes (2, 3) and (4,)": of all tensors of the call, to end a message with.
std::string operand_shapes(const OpCall& call);
// Sizes that all operands broadcast to. Raises with the shapes.
DimVec broadcast_sizes(const OpCall& call, std::span<const Tensor* const> tensors);
// Whether a dim of `size` is broadcast to `target`, as it is or from one.
bool expands_to(Dim size, Dim target);
// Strides of a new result of these sizes that keeps the order in which the operands' dims lie in memory, as torch's
// does.
DimVec pointwise_strides(const DimVec& sizes, std::span<const Tensor* const> tensors);
// Strides for `wanted` over the elements of base, or false when only a copy has this shape.
bool view_strides(const TensorSpec& base, const DimVec& wanted, DimVec& strides);
// The index range of a Python slice over an extent: begin, length.
std::pair<Dim, Dim> slice_range(Dim extent, std::optional<Dim> start, std::optional<Dim> stop, int64_t step);

}  // namespace md
