// The Python callables of the op table: one C trampoline per row, wrapped as functions and methods.
#pragma once
#include <vector>

#include "cpython/ref.h"

namespace md {

// PyMethodDefs of the rows with a method variant; they live as long as the process.
std::vector<PyMethodDef> op_method_defs();

// Call once the Tensor type is ready: {name: function} of the rows with a function variant, and of those with a
// functional variant. Adds all functions to the callables of the family.
Ref make_op_functions();
Ref make_functional_functions();
Ref make_prims_functions();  // of the ops that occur only in graphs
void add_op_methods();       // the methods found on the Tensor type

}  // namespace md
