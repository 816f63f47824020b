// Objects of C classes that never change, made by calling the class.
#pragma once
#include "cpython/ref.h"

namespace md {

// `call` is Python for what calling one of its objects does: call(args, keywords, *more), or null.
void register_made_class(PyTypeObject* type, BorrowedRef call);

}  // namespace md
