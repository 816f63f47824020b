// Helpers shared by the printers and the parser of graphs.
#pragma once
#include <string>

#include "graph/graph.h"

namespace md {

const char* scalar_kind_name(Scalar::Kind kind);  // "bool", "int", "float"
// Element i, in row-major order.
Scalar get_element(const Tensor& tensor, int64_t i);
// An operand as Python source.
std::string operand_code(const Operand& operand);
void set_element(const Tensor& tensor, int64_t i, const Scalar& value);

}  // namespace md
