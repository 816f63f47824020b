// Data-flow analysis over the neutral instructions, including exception edges.
#pragma once
#include "bytecode/bytecode.h"

namespace md {

// The handler of every instruction: an index in the table, or -1.
std::vector<int32_t> handler_indices(size_t instruction_count, const std::vector<HandlerRange>& handlers);

// Operand stack depth on entry to every instruction, -1 if unreachable.
std::vector<int32_t> stack_depths(const std::vector<Instruction>& instructions,
                                  const std::vector<HandlerRange>& handlers);

// One row of `words` words per reachable instruction: the slots that may be read before they are written.
std::vector<uint64_t> live_slots(const std::vector<Instruction>& instructions,
                                 const std::vector<HandlerRange>& handlers, const std::vector<int32_t>& depths,
                                 int words);

}  // namespace md
