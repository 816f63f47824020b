// Static information about the value of an operand.
#pragma once
#include "graph/graph.h"

namespace md {

inline const ValueInfo& info_of(ValueRef value) { return value.node->outs[static_cast<size_t>(value.out)]; }
inline const TensorSpec& spec_of(ValueRef value) { return info_of(value).spec; }
inline const TensorSpec& spec_of(const Operand& operand) { return spec_of(std::get<ValueRef>(operand)); }

}  // namespace md
