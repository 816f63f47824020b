// What a decomposition raises that has failed. infos: of each matrix 0, or the number, from 1, of the column at which
// it failed.
#pragma once
#include <span>

#include "tensor/ops/op_row.h"

namespace md {

// LinAlgError: a pivot is 0; consequence: what therefore could not be done.
void raise_if_singular(const OpCall& call, std::span<const int32_t> infos, const char* consequence);
void raise_if_not_positive(const OpCall& call, std::span<const int32_t> infos);

}  // namespace md
