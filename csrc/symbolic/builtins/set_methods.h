// Operators on sets.
#pragma once
#include <functional>

#include "bytecode/binary_operators.h"
#include "symbolic/trace/tracer.h"

namespace md {

// An operator on sets, frozensets and keys views. Null: other operands, or it would modify the left one.
ValuePtr combine_sets(Tracer& tracer, const ValuePtr& left, const ValuePtr& right, bool in_place,
                      const std::function<Ref(PyObject*, PyObject*)>& apply);
// a
// = b and a -= b on a set, which modify that set. Returns false for other operands.
bool change_set_in_place(Tracer& tracer, BinaryCode op, const ValuePtr& left, const ValuePtr& right);

}  // namespace md
