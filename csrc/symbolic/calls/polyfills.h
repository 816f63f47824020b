// Functions of ours that do what callables not written in Python do, without globals: they are inlined instead, and nobody sees their
// frames.
#pragma once
#include <string>

#include "symbolic/trace/registry.h"

namespace md {

// `parameters` has a letter for each positional parameter, that the original checks at once and a generator would check later:
// I an iterable, N an int >= 0, n the same or None, p an int > 0 or None, Z an int, V a number, O anything,
// * at the end: any number of the last. "": no check.
// `inner` is the type of what its inner generators stand for; null: nobody meets them.
void register_polyfill(BorrowedRef callable, BorrowedRef function, const std::string& parameters, BorrowedRef inner);
// The type of a generator with this code, or of what it stands for.
PyTypeObject* type_of_generator(BorrowedRef code);
bool fits_polyfill(Tracer& tracer, BorrowedRef callable, const CallArgs& args);
ValuePtr find_polyfill(BorrowedRef callable);  // null: none

}  // namespace md
