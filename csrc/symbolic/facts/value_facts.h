// What is known of a value; each adds the guard that makes the answer valid.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// An exact tuple, named results, or of a subclass of tuple that has its elements in tuple's own way.
bool is_plain_tuple(Tracer& tracer, const ValuePtr& value);
// An exact list, a deque, or of a subclass of list that has its elements in list's own way.
bool is_plain_list(Tracer& tracer, const ValuePtr& value);
// The type of the value has these methods of a built-in base as they are there (guarded).
bool inherits(Tracer& tracer, const ValuePtr& value, PyTypeObject* base, std::initializer_list<const char*> names);
// An exact dict, or one of a subclass that the trace made, which has these methods in dict's own way.
bool is_dict(Tracer& tracer, const ValuePtr& value, std::initializer_list<const char*> names);
// The constant that the value is: an atom, or a tuple or slice of constants. Null if it is none.
Ref constant_of(Tracer& tracer, const ValuePtr& value);
// Elements of an exact tuple or list, real or made here; null: neither.
std::unique_ptr<std::vector<ValuePtr>> elements_of(Tracer& tracer, const ValuePtr& value);
std::optional<int64_t> length_of(Tracer& tracer, const ValuePtr& value);
ValuePtr element(Tracer& tracer, ObjectValue* sequence, Py_ssize_t index);
// True, False, or no answer: then code or data decides.
std::optional<bool> truth_of(Tracer& tracer, const ValuePtr& value);
// a == b without running user code; no answer: unknown.
std::optional<bool> known_equal(Tracer& tracer, const ValuePtr& a, const ValuePtr& b);
// The exact tuple without elements: there is one, whoever makes it.
bool is_empty_tuple(Tracer& tracer, const ValuePtr& value);
// Python's `is`.
bool same_object(Tracer& tracer, const ValuePtr& a, const ValuePtr& b);
// 64-bit value of an exact int (not bool), guarded by value.
std::optional<int64_t> int_of(Tracer& tracer, const ValuePtr& value);
bool inherits_truth(Tracer& tracer, const ValuePtr& value);

// The object as a key of a dict or an element of a set: a constant, or an object that is equal to itself alone, guarded by
// identity. Breaks on what has its own equality, raises for what has no hash: Python raises where it is not alone but one of
// those out of an iterable, after what it does with those before it.
Ref key_of(Tracer& tracer, const ValuePtr& value, bool alone = true);
// The value that such a key is.
ValuePtr value_of_key(Tracer& tracer, BorrowedRef key);
bool has_own_identity(Tracer& tracer, const ValuePtr& value);
bool may_be_key(BorrowedRef object);
// Entries of an exact dict, real or made here; keys are constants. Null: not such a dict.
std::unique_ptr<std::vector<DictValue::Entry>> entries_of(Tracer& tracer, const ValuePtr& value);
// The value at a source; the same one for the same source.
ValuePtr value_at(Tracer& tracer, const Source* source, Ref object);
// Fetches the object first; null if nothing is there.
ValuePtr value_at(Tracer& tracer, const Source* source);
[[noreturn]] void raise_unhashable(Tracer& tracer, bool alone);

}  // namespace md
