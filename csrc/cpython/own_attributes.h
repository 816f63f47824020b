// The attributes that an object holds itself: in its slots and in its __dict__.
#pragma once
#include "cpython/ref.h"

namespace md {

// Returns true if the name is that of a property, or of a data descriptor of a Python class: the object's own attribute
// is in its __dict__ only.
bool is_behind_descriptor(BorrowedRef object, BorrowedRef name);
// Null if it is unset.
Ref own_attribute(BorrowedRef object, BorrowedRef name);
// Null value: deletes it.
void set_own_attribute(BorrowedRef object, BorrowedRef name, BorrowedRef value);

}  // namespace md
