// An iterator under an object that gives it to whoever asks for one: asking the iterator itself would call its __iter__
// once more.
#pragma once
#include "cpython/ref.h"

namespace md {

// The iterable itself if it is no iterator.
Ref held_iterator(BorrowedRef iterable);

}  // namespace md
