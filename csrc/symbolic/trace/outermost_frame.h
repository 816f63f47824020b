// The outermost frame of a trace: entering it, its changes since the start, and the return to a caller.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Enters the region's own frame.
void start_root(Tracer& tracer);
// Returns from the outermost frame to its suspended caller. Returns the value of its continuation, null if there is
// none.
ValuePtr enter_caller(Tracer& tracer);
// The slots of the outermost frame that changed since the region's start; null for values that are neither constants,
// nor owned by the frame since then, nor hold such an object whose death is observable.
EntryState::ChangedSlots changed_slots(Tracer& tracer);
// Unsets a slot of the running frame and returns its old value. The exit unsets the slot whatever it held at the start.
ValuePtr clear_slot(Tracer& tracer, int slot);
// Returns true if a frame object of the running frame may exist already, with a snapshot of its locals.
bool may_have_frame_object(const Tracer& tracer);

}  // namespace md
