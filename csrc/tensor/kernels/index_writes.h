// Shared by the kernels that write by index.
#pragma once
#include "tensor/ops/call_args.h"

namespace md {

// Initialises the result with self, unless it is self.
void start_from_self(const OpCall& call, const Tensor& out);
// Copies contiguous elements.
void copy_run(size_t item, const char* src, char* dst, int64_t n);
// *dst += *src; integers wrap around, for bools it is `or`.
using AddElement = void (*)(void* dst, const void* src);
AddElement add_element(DType dtype);

// One element of out's dtype, from a number or a tensor of one element.
struct OneElement {
  OneElement(const OpCall& call, const Arg& value, DType dtype, bool checks = true);
  alignas(8) char bytes[16];
};

}  // namespace md
