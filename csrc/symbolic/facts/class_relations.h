// What a class derives from and what its objects can do, as answers that are guarded: a class may be given other bases, or what
// makes its objects callable, and may be registered as a sequence.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The classes that the class derives from, in order, are as they are now.
void guard_mro(Tracer& tracer, const ValuePtr& type);
// issubclass(type, base) by the MRO alone.
bool derives_from(Tracer& tracer, const ValuePtr& type, PyTypeObject* base);
// The same of the value's class.
bool is_object_of(Tracer& tracer, const ValuePtr& value, PyTypeObject* base);
bool is_callable(Tracer& tracer, const ValuePtr& value);
// `flag` is Py_TPFLAGS_SEQUENCE or Py_TPFLAGS_MAPPING.
bool matches_pattern(Tracer& tracer, const ValuePtr& value, unsigned long flag);

}  // namespace md
