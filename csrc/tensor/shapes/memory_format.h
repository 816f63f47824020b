// Memory formats, in which order the dims of a made tensor lie: arguments are their names.
#pragma once
#include <array>
#include <string_view>

#include "tensor/ops/op_row.h"

namespace md {

// The rank that a format asks for; 0: any.
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

// Whether the elements lie as the strides say: those of dims of size 1 count for nothing.
bool lies_as(const TensorSpec& spec, const DimVec& strides);
// Whether a tensor lies in a format; false for sizes of another rank than the format's.
bool lies_in_format(const TensorSpec& spec, std::string_view format);

// The format in which a tensor lies by torch's guess from its strides.
std::string_view suggested_format(const TensorSpec& spec);

// What the argument memory_format of a call names, null where there is none. Raises TypeError for a name that no format has.
const MemoryFormatRow* memory_format_arg(const OpCall& call);

// Strides of sizes in the format that the parameter memory_format names; `preserved` where it is None or
// "preserve_format". Throws Error(Runtime) for sizes of another rank than the format's.
DimVec strides_in_format(const OpCall& call, const DimVec& sizes, DimVec preserved);
// Of a copy: those of a tensor that fills its memory, else packed in the order of its dims.
DimVec preserved_strides(const Tensor& tensor);

}  // namespace md
