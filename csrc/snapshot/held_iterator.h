// Wraps an iterator in an object whose __iter__ returns it: calling iter() on the iterator itself would
// call its __iter__ a second time.
#pragma once
#include "cpython/ref.h"

namespace md {

// Returns the iterable itself if it is no iterator.
Ref held_iterator(BorrowedRef iterable);

}  // namespace md
