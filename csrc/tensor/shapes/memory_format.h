// Memory formats: the order of dims in memory of a new tensor. Arguments are their names.
#pragma once
#include <array>
#include <string_view>

#include "tensor/ops/op_row.h"

namespace md {

// The rank required by a format; 0: any.
struct MemoryFormatRow {
  std::string_view name;
  int rank;
};
inline constexpr std::array<MemoryFormatRow, 4> kMemoryFormats = {{
    {"contiguous_format", 0},
    {"preserve_format", 0},
    {"channels_last", 4},
    {"channels_last_3d", 5},
}};

// Whether the tensor has these strides, ignoring dims of size 1.
bool lies_as(const TensorSpec& spec, const DimVec& strides);
// Whether a tensor has a format's layout; false for sizes of another rank than the format's.
bool lies_in_format(const TensorSpec& spec, std::string_view format);
// Whether the channels, dim 1, of one position are adjacent, and the tensor has no gaps. Of any rank from 3 on.
bool has_channels_last(const TensorSpec& spec);

// The format that torch infers from a tensor's strides.
std::string_view suggested_format(const TensorSpec& spec);

// The format named by the argument memory_format of a call, null if there is none. Raises
// TypeError for an unknown name.
const MemoryFormatRow* memory_format_arg(const OpCall& call);

// Strides of `sizes` in the format named by the parameter memory_format; `preserved` if that is None or
// "preserve_format". Throws Error(Runtime) for sizes of another rank than the format's.
DimVec strides_in_format(const OpCall& call, const DimVec& sizes, DimVec preserved);
// Strides of a copy: the same for a dense tensor, else contiguous in the same order of dims.
DimVec preserved_strides(const Tensor& tensor);

}  // namespace md
