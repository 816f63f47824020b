// Shared by the kernels that write by index.
#pragma once
#include <type_traits>

#include "tensor/dtype.h"
#include "tensor/ops/call_args.h"

namespace md {

// Initialises the result with self, unless it is self.
void start_from_self(const OpCall& call, const Tensor& out);
// A contiguous copy with larger sizes and another dtype, or the tensor itself.
Tensor broadcast_to(const Tensor& tensor, const DimVec& sizes, DType dtype);
// Copies contiguous elements.
void copy_run(size_t item, const char* src, char* dst, int64_t n);
// Integers wrap around, for bools it is `or`.
template <typename T>
void add_to(T& to, const T& from) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    to = T::from_float(to.to_float() + from.to_float());
  } else if constexpr (is_complex_type<T>) {
    to = {to.re + from.re, to.im + from.im};
  } else if constexpr (std::is_same_v<T, bool>) {
    to = to | from;
  } else if constexpr (std::is_integral_v<T>) {
    to = static_cast<T>(static_cast<uint64_t>(to) + static_cast<uint64_t>(from));
  } else {
    to = to + from;
  }
}

// add_to() of a dtype.
using AddElement = void (*)(void* dst, const void* src);
AddElement add_element(DType dtype);

// One element of out's dtype, from a number or a tensor of one element.
struct OneElement {
  OneElement(const OpCall& call, const Arg& value, DType dtype, bool checks = true);
  alignas(8) char bytes[16];
};

}  // namespace md
