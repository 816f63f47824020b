// Pure functions of modules of the standard library that a program may never import: importing them would take a tenth
// of what importing minidynamo takes. They are known from the first capture after the program has loaded the module.
#pragma once
#include "cpython/ref.h"

namespace md {

// The types of compiled patterns, which are immutable, and of their matches. Null until `re` is loaded.
PyTypeObject* pattern_type();
PyTypeObject* match_type();

}  // namespace md
