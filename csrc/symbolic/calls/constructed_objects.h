// Constructed objects: instances of immutable C classes, created by calling the class.
#pragma once
#include "cpython/ref.h"

namespace md {

// `call` is a Python function that does what calling an instance does: call(args, keywords, *more); may be null.
void register_made_class(PyTypeObject* type, BorrowedRef call);

}  // namespace md
