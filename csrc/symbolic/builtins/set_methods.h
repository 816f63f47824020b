// Operators on sets.
#pragma once
#include <functional>

#include "bytecode/binary_operators.h"
#include "symbolic/trace/tracer.h"

namespace md {

// An operator on sets, frozensets and views of keys. Null: not on these, or it changes the left one.
ValuePtr combine_sets(Tracer& tracer, const ValuePtr& left, const ValuePtr& right, bool in_place,
                      const std::function<Ref(PyObject*, PyObject*)>& apply);
// a |= b and a -= b on a set, which change that set. False: not on these.
bool change_set_in_place(Tracer& tracer, BinaryCode op, const ValuePtr& left, const ValuePtr& right);

}  // namespace md
