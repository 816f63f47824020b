// One owned argument of an op.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "tensor/scalar.h"
#include "tensor/tensor.h"

namespace md {

// monostate is None. A bool parameter is a Scalar of kind Bool, an int one a Scalar of kind Int.
using Arg = std::variant<std::monostate, Tensor, std::vector<Tensor>, Scalar, DimVec, DType, std::string>;

inline bool is_none(const Arg& arg) { return std::holds_alternative<std::monostate>(arg); }

}  // namespace md
