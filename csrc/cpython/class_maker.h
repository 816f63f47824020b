// Classes made and filled past what would be called for it.
#pragma once
#include "cpython/ref.h"

namespace md {

// type.__new__ without the call of __init_subclass__ that ends it: a new class of this metaclass; arguments: (name, bases, names),
// where names may be changed. No code in Python runs but what __set_name__ of the objects among the names does. Null: an exception
// is set.
Ref new_class(PyTypeObject* meta, BorrowedRef arguments);

// The class holds the value under a name that it has already, of which no slot of the class depends.
void put_in_class(PyTypeObject* type, BorrowedRef name, BorrowedRef value);

}  // namespace md
