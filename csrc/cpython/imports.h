// Attributes of modules of the standard library and of minidynamo. Nothing is imported while a frame of the program
// runs: there a module may be half initialised, or not the one that the program will end up with.
#pragma once
#include "cpython/ref.h"

namespace md {

// An attribute of a module in the table of imports.cpp, as it was when minidynamo was imported, or the current one of a
// loaded module of minidynamo. Throws PythonError if there is no such name. Runs no code of the program.
Ref imported(const char* module, const char* name);
// Returns null if this version of Python has no such name.
Ref imported_if_there(const char* module, const char* name);
// All names of a module in the table.
BorrowedRef imported_names(const char* module);

// The dict of a standard library module, if the program has loaded it at least up to `last_name`; else null.
BorrowedRef loaded_names(const char* module, const char* last_name);
// Whether a function found among these names is the module's own, not one that the program has put in its place.
bool is_function_of(const char* module, BorrowedRef names, BorrowedRef function);

// Imports the modules of the table; called once, before any other function here.
void import_library_modules();
// Keeps a module of minidynamo reachable even if sys.modules is cleared.
void hold_own_module(BorrowedRef module);

}  // namespace md
