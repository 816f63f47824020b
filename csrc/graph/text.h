// The words that the printers and the parser of graphs share.
#pragma once
#include <string>

#include "tensor/tensor.h"

namespace md {

const char* scalar_kind_name(Scalar::Kind kind);  // "bool", "int", "float"
// Element i, counted in row-major order of the sizes.
Scalar get_element(const Tensor& tensor, int64_t i);
void set_element(const Tensor& tensor, int64_t i, const Scalar& value);

}  // namespace md
