// Conditions of assert statements, which stay in the graph.
#pragma once
#include <initializer_list>

#include "bytecode/bytecode.h"
#include "symbolic/trace/tracer.h"

namespace md {

// Whether the instructions after this one are these.
bool is_followed_by(Tracer& tracer, std::initializer_list<Opcode> ops);
// At an instruction that converts a condition to a bool: whether an assert statement tests it.
inline bool is_asserted(Tracer& tracer) {
  return is_followed_by(tracer, {Opcode::POP_JUMP_IF_TRUE, Opcode::LOAD_ASSERTION_ERROR});
}
// The truth of a tensor of one element, as a bool of the graph; null for other values.
ValuePtr truth_in_graph(Tracer& tracer, const ValuePtr& value);

}  // namespace md
