// type.__new__ without the call of __init_subclass__ that ends it.
#pragma once
#include "cpython/ref.h"

namespace md {

// A new class of this metaclass; arguments: (name, bases, names), where names may be changed. No code in Python runs but what
// __set_name__ of the objects among the names does. Null: an exception is set.
Ref new_class(PyTypeObject* meta, BorrowedRef arguments);

}  // namespace md
