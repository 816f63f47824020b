// What a region sees at its start: a frame's slots (locals, cells, then the value stack), or the argument array of a
// CompiledFunction call that has no frame. At a function's entry the cells are not made yet: slots hold plain arguments.
#pragma once
#include "cpython/ref.h"

namespace md {

struct LocalsView {
  PyObject* const* slots;  // borrowed, null where unset
  int slot_count;          // locals plus stack depth
  PyObject* function;      // borrowed PyFunctionObject

  BorrowedRef get(int slot) const { return slot < slot_count ? slots[slot] : nullptr; }
};

}  // namespace md
