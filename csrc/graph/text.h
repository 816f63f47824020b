// The words that the printers and the parser of graphs share.
#pragma once
#include <string>

#include "tensor/tensor.h"

namespace md {

// As Python writes it; a float always shows that it is one.
std::string scalar_text(const Scalar& scalar);
const char* scalar_kind_name(Scalar::Kind kind);   // "bool", "int", "float"
std::string dims_text(std::span<const Dim> dims);  // "(2, 3)", "(4,)", "()"
std::string spec_text(const TensorSpec& spec);     // "f32[2, 3][3, 1]"
// Element i, counted in row-major order of the sizes.
Scalar get_element(const Tensor& tensor, int64_t i);
void set_element(const Tensor& tensor, int64_t i, const Scalar& value);

}  // namespace md
