// Polyfills: Python functions of the package, without globals, that do what C callables do. They are inlined instead,
// and their frames are invisible.
#pragma once
#include <string>

#include "symbolic/trace/registry.h"

namespace md {

// `parameters` has one letter for each positional parameter that the original checks at once and a generator would
// check late: I an iterable, N an int >= 0, n the same or None, p an int > 0 or None, Z an int, V a number, S a list, a
// tuple, a string or a tensor, O anything, and * at the end: any number of the last. "": no check.
// `inner` is the type that generators inside the polyfill present themselves as; null if they are unobservable.
void register_polyfill(BorrowedRef callable, BorrowedRef function, const std::string& parameters, BorrowedRef inner);
// The type of a generator with this code, or the type that it presents itself as.
PyTypeObject* type_of_generator(BorrowedRef code);
bool fits_polyfill(Tracer& tracer, BorrowedRef callable, const CallArgs& args);
// Whether its polyfill does with objects of the program's classes what the original does: it runs at once, and only
// calls or iterates over its arguments.
bool takes_user_objects(BorrowedRef callable);
ValuePtr find_polyfill(BorrowedRef callable);  // null if there is none
// The function as a polyfill is inlined: without globals, its frame invisible.
ValuePtr stand_in(BorrowedRef function);

}  // namespace md
