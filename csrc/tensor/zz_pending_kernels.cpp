// Kernels that are still to be written; a kernel's own definition takes precedence.
#include "tensor/kernels.h"

#include "base/error.h"

namespace md {

#define MD_KERNEL(name) \
  __attribute__((weak)) void name(const OpCall& call, std::span<Tensor>) { raise_op(ErrorKind::NotImplemented, call.row.name, "has no kernel yet"); }
#include "tensor/kernels.def"
#undef MD_KERNEL

}  // namespace md
