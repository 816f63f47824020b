// id() of objects: the same value for the same object, kept apart from ordinary numbers.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// id(): the same Value for the same object. Breaks for objects that may be one or two (numbers, texts).
ValuePtr identity_number(Tracer& tracer, const ValuePtr& value);
// The number itself, for calculations, where the object is pre-existing: it is guarded by identity. Other values are
// returned unchanged.
ValuePtr number_or_itself(Tracer& tracer, const ValuePtr& value);
// Whether such a number equals another number, or the id of an object that may be the same, is known to the interpreter
// only: no look-up, store or set operation may compare such keys. Breaks where one would, before anything is changed.
void keep_identities_apart(Tracer& tracer, BorrowedRef key, BorrowedRef other);
void keep_apart_in_set(Tracer& tracer, BorrowedRef key, BorrowedRef set);
void keep_apart_in_dict(Tracer& tracer, BorrowedRef key, const DictValue& dict);
void keep_apart_in_writes(Tracer& tracer, BorrowedRef key, const PendingWrites& writes);
// For two collections that may be merged either way; with itself, for keys of a new container.
void keep_all_apart(Tracer& tracer, BorrowedRef keys, BorrowedRef others);

}  // namespace md
