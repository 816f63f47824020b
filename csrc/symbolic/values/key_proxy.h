// Key proxy: represents a key with a user-defined __hash__ or __eq__ in a traced dict or set, with the same hash.
// Comparing it with another object of that hash raises, unless the program has found in this instruction that they
// differ: a handler that did not compare them cannot continue.
#pragma once
#include <vector>

#include "cpython/ref.h"

namespace md {

Ref make_key_proxy(Py_hash_t hash);
bool is_key_proxy(BorrowedRef object);
Py_hash_t hash_of_stand_in(BorrowedRef stand_in);

// The elements with this hash, in the order in which a look-up in the set compares them; runs no user code.
std::vector<Ref> elements_met(BorrowedRef set, Py_hash_t hash);

// Represents the number of an id(), which is known only at the exit; equal to itself alone.
Ref make_identity_stand_in();
bool is_identity_stand_in(BorrowedRef object);

// Records that the program found the two keys different, until forget_differences() at the next instruction.
void note_difference(BorrowedRef key, BorrowedRef other);
void forget_differences();
// Returns true and clears the current exception if it was raised by a comparison that the program has not made.
bool take_unasked_comparison();

}  // namespace md
