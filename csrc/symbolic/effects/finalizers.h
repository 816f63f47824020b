// An overwritten, removed or released object may be finalised at that point: the region ends and the interpreter does
// it there.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Breaks if the overwritten or removed object may be finalised here.
void leave_finalizer_to_python(Tracer& tracer, PyObject* old, Py_ssize_t held = 2);
// Likewise for the values that a container drops, except those that it keeps elsewhere; for all entries of a dict; for
// one entry.
void leave_finalizers_to_python(Tracer& tracer, std::span<const ValuePtr> dropped, const std::vector<ValuePtr>& kept);
void leave_entries_to_python(Tracer& tracer, PyObject* dict);
void leave_entry_to_python(Tracer& tracer, PyObject* dict, BorrowedRef key, bool keeps_key);
void leave_element_to_python(Tracer& tracer, PyObject* set, BorrowedRef item);  // null: all of them
// The frame releases a value. Breaks if the death of the object runs code of the program.
void release_value(Tracer& tracer, const ValuePtr& value);
// Null unless the outermost frame has owned the object since the region's start.
PyObject* held_from_start(Tracer& tracer, const ValuePtr& value);
bool death_is_observable(Tracer& tracer, const ValuePtr& value);
// An instruction that pops a value may drop its last reference: if so, the region ends before it.
void check_dropped(Tracer& tracer);

}  // namespace md
