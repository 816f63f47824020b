// Conditions that a program only tests to raise where they do not hold: they stay in the graph.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The truth with which a conditional jump goes on, if with the other one the function raises on a straight path;
// nothing for other instructions. A raise that the function itself catches is a branch like any other, unless it is
// that of an assert statement.
std::optional<bool> truth_that_goes_on(const Bytecode& code, int jump);
// The same of the instruction after this one, which converts a condition to a bool.
std::optional<bool> truth_that_goes_on_next(Tracer& tracer);
// The truth of a tensor of one element, as a bool of the graph; null for other values.
ValuePtr truth_in_graph(Tracer& tracer, const ValuePtr& value);

}  // namespace md
