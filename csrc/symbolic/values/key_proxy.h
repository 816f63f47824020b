// What stands in a dict or set of the trace for a key with a __hash__ and __eq__ of the program's own. It has the hash that the program
// gave. Compared with another object of that hash it fails, unless the program has said in this instruction that they differ: nothing
// that forgot to ask goes on.
#pragma once
#include <vector>

#include "cpython/ref.h"

namespace md {

Ref make_key_proxy(Py_hash_t hash);
bool is_key_proxy(BorrowedRef object);
Py_hash_t hash_of_stand_in(BorrowedRef stand_in);

// The elements of this hash in the order in which a look-up in the set meets them; nobody is asked for anything.
std::vector<Ref> elements_met(BorrowedRef set, Py_hash_t hash);

// What stands there for a number of id(), which only the exit knows: it equals itself alone.
Ref make_identity_stand_in();
bool is_identity_stand_in(BorrowedRef object);

// The program has compared them: they are not equal. Until forget_differences(), which each instruction begins with.
void note_difference(BorrowedRef key, BorrowedRef other);
void forget_differences();
// The exception that is set is that of a comparison which nobody asked for; it is cleared.
bool take_unasked_comparison();

}  // namespace md
