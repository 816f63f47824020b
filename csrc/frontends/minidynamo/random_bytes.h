// A generator's state as bytes in a uint8 tensor: as torch lays out the one of its generator for CPUs.
#pragma once
#include "cpython/ref.h"
#include "tensor/kernels/random.h"

namespace md {

Ref random_state_to_tensor(const RandomState& state);
RandomState random_state_from_tensor(BorrowedRef value);  // throws Error(Type), Error(Runtime)

}  // namespace md
