// The state at the start of a region: a frame's slots (locals, cells, then the value stack), or the
// argument array of a call of a CompiledFunction without a frame. At function entry the cells have not been
// created: slots hold plain arguments.
#pragma once
#include "cpython/ref.h"

namespace md {

struct LocalsView {
  PyObject* const* slots;  // borrowed, null if unset
  int slot_count;          // locals plus stack depth
  PyObject* function;      // borrowed PyFunctionObject

  BorrowedRef get(int slot) const { return slot < slot_count ? slots[slot] : nullptr; }
};

}  // namespace md
