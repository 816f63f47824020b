// The exception table of a code object, converted to instruction indices, in order.
#pragma once
#include "bytecode/bytecode.h"

namespace md {

std::vector<HandlerRange> read_exception_table(PyCodeObject* code, const std::vector<Instruction>& instructions,
                                               const std::vector<int32_t>& unit_to_index);

}  // namespace md
