// Creates and fills classes without running the hooks that Python would call.
#pragma once
#include "cpython/ref.h"

namespace md {

// type.__new__ without its final call of __init_subclass__: returns a new class of this metaclass. arguments: (name,
// bases, names); names may be modified. Runs no Python code except __set_name__ of objects among the names. Returns
// null with an exception set on failure.
Ref new_class(PyTypeObject* meta, BorrowedRef arguments);

// Overwrites an existing name in the dict of the class; no type slot may depend on that name.
void put_in_class(PyTypeObject* type, BorrowedRef name, BorrowedRef value);

}  // namespace md
