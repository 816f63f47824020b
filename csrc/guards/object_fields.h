// Fields of built-in objects that Python exposes as computed attributes: names, bases, code.
// Read without running any code.
#pragma once
#include <optional>

#include "cpython/ref.h"

namespace md {

// Row of attribute `name` of objects of `type`; nullopt if there is none.
std::optional<int> object_field(PyTypeObject* type, BorrowedRef name);
// The current value, borrowed; null if `object` is of another type, or if Python would compute a new object.
PyObject* read_object_field(PyObject* object, int field);

// Whether objects of this type have the member that the descriptor reads: a class may have taken it from another class.
bool has_member(PyTypeObject* type, BorrowedRef member_descriptor);

}  // namespace md
