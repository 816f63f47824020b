// Which tensors share memory: by address, since two storages may lie over the same bytes.
#pragma once
#include "tensor/tensor.h"

namespace md {

// Real tensors. Whether the byte ranges from first to last element meet: false means surely apart.
bool ranges_meet(const Tensor& a, const Tensor& b);
// The same elements in the same order.
bool is_same_window(const Tensor& a, const Tensor& b);
// Two positions of the spec are one element, as far as its strides say so plainly: an expanded dim.
bool has_expanded_dim(const TensorSpec& spec);
// Sizes and strides fill a range without gaps, in some order of dims.
bool is_dense(const TensorSpec& spec);
// What torch refuses: both fill their ranges, the ranges meet, and the tensors are not the same window.
bool overlaps_in_part(const Tensor& written, const Tensor& read);

}  // namespace md
