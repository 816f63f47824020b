// Constructed objects: instances of immutable C classes, created by calling the class.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// `call` is a Python function that does what calling an instance does: call(args, keywords, *more); may be null.
void register_made_class(PyTypeObject* type, BorrowedRef call);
// The object that C code makes when the attribute of this descriptor is read; null: it makes none, or not of `object`.
ValuePtr made_field(Tracer& tracer, BorrowedRef descriptor, const ValuePtr& object);

}  // namespace md
