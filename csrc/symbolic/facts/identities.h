// id() of objects: the same value for the same object, kept apart from other numbers.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// id(): the same Value for the same object. Breaks for what may be one object or two (numbers, texts).
ValuePtr identity_number(Tracer& tracer, const ValuePtr& value);
// Which of these numbers is another number, and which of them are one where the objects may be one, only Python knows: no look-up,
// store, or operation on sets may compare such keys. It breaks where it would, before anything is changed.
void keep_identities_apart(Tracer& tracer, BorrowedRef key, BorrowedRef other);
void keep_apart_in_set(Tracer& tracer, BorrowedRef key, BorrowedRef set);
void keep_apart_in_dict(Tracer& tracer, BorrowedRef key, const DictValue& dict);
void keep_apart_in_writes(Tracer& tracer, BorrowedRef key, const PendingWrites& writes);
// Of two collections, each of which may be put into the other; of one with itself, what becomes the keys of a new container.
void keep_all_apart(Tracer& tracer, BorrowedRef keys, BorrowedRef others);

}  // namespace md
