// Guarded facts about classes: what a class derives from and what its objects support. Python code can assign
// __bases__, add or remove __call__, and register a class as a sequence.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Guards the MRO of the class.
void guard_mro(Tracer& tracer, const ValuePtr& type);
// issubclass(type, base) by the MRO alone.
bool derives_from(Tracer& tracer, const ValuePtr& type, PyTypeObject* base);
// Likewise for the class of the value.
bool is_object_of(Tracer& tracer, const ValuePtr& value, PyTypeObject* base);
// An object of a class in Python, or a container of such a class created in the trace.
bool has_python_class(const ValuePtr& value);
// int | None as the trace has made it.
bool is_made_union(const ValuePtr& value);
bool is_callable(Tracer& tracer, const ValuePtr& value);
// `flag` is Py_TPFLAGS_SEQUENCE or Py_TPFLAGS_MAPPING.
bool matches_pattern(Tracer& tracer, const ValuePtr& value, unsigned long flag);

}  // namespace md
