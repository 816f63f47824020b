// What modules of the standard library, and ours, have under a name. Nothing is imported in the midst of a program's frame: the
// modules there may be loading, or be others than those that the program will have in the end.
#pragma once
#include "cpython/ref.h"

namespace md {

// Of a module in the table of imports.cpp, as it was when minidynamo was imported, or of a loaded module of ours, as it is.
// Throws PythonError if there is no such name. Runs no code of the program's.
Ref imported(const char* module, const char* name);
// Null: there is no such name in this version of Python.
Ref imported_if_there(const char* module, const char* name);
// All names of a module in the table.
BorrowedRef imported_names(const char* module);

// The dict of a module of the standard library that the program has loaded as far as `last_name`; null: it has not.
BorrowedRef loaded_names(const char* module, const char* last_name);

// Imports the modules of the table; called once, before anything that names one.
void import_library_modules();
// A module of ours, which stays known if somebody empties sys.modules.
void hold_own_module(BorrowedRef module);

}  // namespace md
