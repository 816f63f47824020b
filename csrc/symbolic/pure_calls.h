// Functions of built-in immutable values without side effects: evaluated while walking when all arguments are known.
#pragma once
#include "symbolic/walk.h"

namespace md {

void register_pure_call(BorrowedRef callable);
bool is_pure_call(BorrowedRef callable);
// Null: an argument is not known, or the result is not a value that a walk can hold.
ValuePtr fold_pure_call(Walk& walk, BorrowedRef callable, const CallArgs& args);
// format(value, spec), str(value) (conversion 1) or repr(value) (2) where Python asks methods in Python of the value's class or
// of its elements. Null: it is not such a value, or not known.
Ref text_by_parts(Walk& walk, const ValuePtr& value, int conversion, BorrowedRef spec);
// An operator on sets, frozensets and views of keys. Null: not on these, or it changes the left one.
ValuePtr combine_sets(Walk& walk, const ValuePtr& left, const ValuePtr& right, bool in_place,
                      const std::function<Ref(PyObject*, PyObject*)>& apply);
// Fills the table; called once at import.
void register_pure_calls();
// A value for the result of a folded operation: a constant, or a list, dict or set made here. Null: of another type.
ValuePtr value_of_result(Walk& walk, const Ref& result);

}  // namespace md
