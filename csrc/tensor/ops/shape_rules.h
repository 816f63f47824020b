// Shape rules: sizes, strides and dtypes of results, over Dim. One per kind of op; named by the rows of ops.def.
#pragma once
#include "tensor/ops/op_row.h"

namespace md {

#define MD_SHAPE_RULE(name) void name(const OpCall& call, std::vector<OutSpec>& outs);
#include "tensor/ops/shape_rules.def"
#undef MD_SHAPE_RULE

// Wraps a negative dim, so that 0 <= dim < max(rank, 1). Raises IndexError with torch's message.
int wrap_dim(const OpCall& call, int64_t dim, int rank);
// The reduced dims, as flags; an empty or missing list means all.
std::vector<bool> reduced_dims(const OpCall& call, const Arg& dims, int rank);
// For any and all: as in torch, an empty list means no dims.
std::vector<bool> truth_reduced_dims(const OpCall& call);
// The p of norm as a number.
double norm_order(const OpCall& call);
bool is_nuclear_norm(const OpCall& call);
// Raises unless the number fits() the dtype. Only for known numbers: called by kernels, not by shape rules.
void require_fits(const OpCall& call, DType dtype, const Scalar& value);
// The same for filling the whole tensor.
void require_fill_fits(const OpCall& call, const Tensor& out, const Scalar& value);
// "; shapes (2, 3) and (4,)": of all tensors of the call, to append to a message.
std::string operand_shapes(const OpCall& call);
// The sizes that all operands broadcast to. Raises with the shapes.
DimVec broadcast_sizes(const OpCall& call, std::span<const Tensor* const> tensors);
// Whether a dim of `size` broadcasts to `target`.
bool expands_to(Dim size, Dim target);
// Strides of a new result of these sizes that preserves the memory order of the operands' dims, as torch does.
DimVec pointwise_strides(const DimVec& sizes, std::span<const Tensor* const> tensors);
// Strides for viewing the elements of base as `wanted`; returns false if only a copy has this shape.
bool view_strides(const TensorSpec& base, const DimVec& wanted, DimVec& strides);
// The index range of a Python slice over an extent: begin, length.
std::pair<Dim, Dim> slice_range(Dim extent, std::optional<Dim> start, std::optional<Dim> stop, int64_t step);

}  // namespace md
