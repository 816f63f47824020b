// Facts about values; each function adds the guard that makes its result valid.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// An exact tuple, a struct sequence, or a subclass of tuple that accesses its elements as tuple does.
bool is_plain_tuple(Tracer& tracer, const ValuePtr& value);
// An exact list, a deque, or a subclass of list that accesses its elements as list does.
bool is_plain_list(Tracer& tracer, const ValuePtr& value);
// Returns true if the type of the value inherits these methods from a built-in base unchanged (guarded).
bool inherits(Tracer& tracer, const ValuePtr& value, PyTypeObject* base, std::initializer_list<const char*> names);
// An exact dict, or a subclass of dict that inherits these methods unchanged.
bool is_dict(Tracer& tracer, const ValuePtr& value, std::initializer_list<const char*> names);
// The value as a constant: an atom, or a tuple or slice of constants. Null if it is not one.
Ref constant_of(Tracer& tracer, const ValuePtr& value);
// The elements of an exact tuple or list, pre-existing or created in the trace; null for other values.
std::unique_ptr<std::vector<ValuePtr>> elements_of(Tracer& tracer, const ValuePtr& value);
// The elements of a tuple, or of an instance of a subclass that is hashed and compared as one (Size, namedtuples); null
// for other values.
std::unique_ptr<std::vector<ValuePtr>> elements_as_key(Tracer& tracer, const ValuePtr& value);
std::optional<int64_t> length_of(Tracer& tracer, const ValuePtr& value);
ValuePtr element(Tracer& tracer, ObjectValue* sequence, Py_ssize_t index);
// The truth of the value; nullopt if code or data decides.
std::optional<bool> truth_of(Tracer& tracer, const ValuePtr& value);
// a == b without running user code; nullopt if unknown.
std::optional<bool> known_equal(Tracer& tracer, const ValuePtr& a, const ValuePtr& b);
// Returns true for the exact empty tuple, which is a singleton.
bool is_empty_tuple(Tracer& tracer, const ValuePtr& value);
// The pre-existing object behind the value; null for an object created in the trace, which has one Value.
BorrowedRef existing_object(const ValuePtr& value);
// Python's `is`.
bool same_object(Tracer& tracer, const ValuePtr& a, const ValuePtr& b);
// 64-bit value of an exact int (not bool), guarded by value.
std::optional<int64_t> int_of(Tracer& tracer, const ValuePtr& value);
bool inherits_truth(Tracer& tracer, const ValuePtr& value);

// The object as a key of a dict or an element of a set: a constant, an object equal only to itself, guarded by
// identity, a tensor, or a tuple of these. Breaks on user-defined equality; raises for an unhashable value, inside the
// trace if it is `alone`. As one of several elements of an iterable it is left to the interpreter, which handles the
// elements before it first.
Ref key_of(Tracer& tracer, const ValuePtr& value, bool alone = true);
// The value behind such a key.
ValuePtr value_of_key(Tracer& tracer, BorrowedRef key);
bool has_own_identity(Tracer& tracer, const ValuePtr& value);
bool may_be_key(BorrowedRef object);
// The entries of an exact dict, pre-existing or created in the trace; keys are constants. Null for other values.
std::unique_ptr<std::vector<DictValue::Entry>> entries_of(Tracer& tracer, const ValuePtr& value);
// Likewise, as the views of dict read them, whatever methods a subclass has.
std::unique_ptr<std::vector<DictValue::Entry>> held_entries(Tracer& tracer, const ValuePtr& value);
// The value at a source; always the same one for the same source.
ValuePtr value_at(Tracer& tracer, const Source* source, Ref object);
// Fetches the object first; null if it does not exist.
ValuePtr value_at(Tracer& tracer, const Source* source);
[[noreturn]] void raise_unhashable(Tracer& tracer, bool alone);

}  // namespace md
