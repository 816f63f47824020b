// What is overwritten, taken out or let go of may be finalized there and then: Python does it, in its place.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// What is overwritten or taken out may be finalized, at this place.
void leave_finalizer_to_python(Tracer& tracer, PyObject* old, Py_ssize_t held = 2);
// The same for values that a container drops, but for those that it keeps elsewhere; for a dict's; for one entry.
void leave_finalizers_to_python(Tracer& tracer, std::span<const ValuePtr> dropped, const std::vector<ValuePtr>& kept);
void leave_entries_to_python(Tracer& tracer, PyObject* dict);
void leave_entry_to_python(Tracer& tracer, PyObject* dict, BorrowedRef key, bool keeps_key);
void leave_element_to_python(Tracer& tracer, PyObject* set, BorrowedRef item);  // null: all of them
// The frame lets go of a value. Where the death of the object runs code of the program's, Python does it, in its place.
void release_value(Tracer& tracer, const ValuePtr& value);
// Null unless the frame at the bottom holds it since the region's start.
PyObject* held_from_start(Tracer& tracer, const ValuePtr& value);
bool death_is_observable(Tracer& tracer, const ValuePtr& value);
// Whatever takes something from the frame's stack may be the last to hold it: Python executes it then.
void check_dropped(Tracer& tracer);

}  // namespace md
