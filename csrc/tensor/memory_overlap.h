// Which tensors share memory: decided by address, since two storages may cover the same bytes.
#pragma once
#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace md {

// For real tensors: whether the byte ranges from first to last element intersect; false means definitely disjoint.
bool ranges_meet(const Tensor& a, const Tensor& b);
// Whether ranges_meet() for one of the first `written` tensors and any other one.
bool any_ranges_meet(std::span<const Tensor> tensors, size_t written);
// Whether they are the same strided view of memory: the same elements in the same order.
bool is_same_view(const Tensor& a, const Tensor& b);
// Whether two indices refer to the same element, as far as single strides tell: an expanded dim.
bool has_expanded_dim(const TensorSpec& spec);
// Whether sizes and strides fill a range from the first element on without gaps, in some order of dims.
bool is_dense(const TensorSpec& spec);
// For concrete layouts in the same memory, offsets in elements: whether an element of one is an element of the other.
// False is certain; true may be wrong for views whose strides have little in common.
bool elements_meet(const TensorSpec& a, int64_t a_offset, const TensorSpec& b, int64_t b_offset);
// The same for layouts that may be symbolic, the first element of `a` being `distance` behind that of `b`: false is
// certain for all sizes.
bool may_meet(const TensorSpec& a, const TensorSpec& b, Dim distance);
// Whether no two indices refer to the same element; false may be wrong. The layout is concrete.
bool elements_are_apart(const TensorSpec& spec);
// The overlap that torch rejects: both fill their ranges, the ranges intersect, and the tensors are not the same view.
bool overlaps_in_part(const Tensor& written, const Tensor& read);

}  // namespace md
