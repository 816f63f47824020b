// What built-in objects hold and show as an attribute that is computed: names, bases, code. Read without running any code.
#pragma once
#include <optional>

#include "cpython/ref.h"

namespace md {

// The place in the table of attribute `name` as objects of `type` have it; nullopt: not one of these.
std::optional<int> object_field(PyTypeObject* type, BorrowedRef name);
// What is there now, borrowed; null: `object` is of another type, or Python would compute it.
PyObject* read_object_field(PyObject* object, int field);

// Whether objects of this type have the member that the descriptor reads: a class may have borrowed it from another one.
bool has_member(PyTypeObject* type, BorrowedRef member_descriptor);

}  // namespace md
