// minidynamo.Generator: a stream of random numbers independent of the process-wide one.
#pragma once
#include <string_view>

#include "cpython/ref.h"
#include "tensor/kernels/random.h"

namespace md {

PyTypeObject* generator_type();  // lives as long as the process
// Throws Error(Type) for other objects; `op` is named in the message.
RandomGenerator& generator_of(BorrowedRef object, std::string_view op);
// A seed as accepted by manual_seed: negative ones count down from 2**64. Throws Error(Type), Error(Value).
uint64_t seed_from_python(BorrowedRef value);

}  // namespace md
