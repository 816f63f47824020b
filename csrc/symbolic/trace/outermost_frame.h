// The outermost frame of a trace: how it is entered, what it holds other than at the start, and the return to a caller.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Enters the region's own frame.
void start_root(Tracer& tracer);
// The outermost frame returns to the frame that waits for it. Returns the value of its continuation, null where it has none.
ValuePtr enter_caller(Tracer& tracer);
// What the outermost frame holds other than at the region's start; what is no constant is null.
std::vector<std::pair<int, ValuePtr>> changed_slots(const EntryState& entry, const SymbolicFrame& frame);
// Unsets a slot of the running frame and returns what it held. At an exit it is unset, whatever it held at the start.
ValuePtr clear_slot(Tracer& tracer, int slot);
// A frame that Python runs may have been asked for its names before.
bool may_have_frame_object(const Tracer& tracer);

}  // namespace md
