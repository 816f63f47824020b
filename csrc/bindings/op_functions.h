// The Python callables of the op table: one C trampoline for each row, made into functions and methods.
#pragma once
#include <vector>

#include "cpython/ref.h"

namespace md {

// PyMethodDefs of the rows with a method face; their memory lives as long as the process.
std::vector<PyMethodDef> op_method_defs();

// After the Tensor type is ready: {name: function} of the rows with a function face, and of those with a functional face.
// Registers every function, and the methods found on the Tensor type, as op callables.
Ref make_op_functions();
Ref make_functional_functions();
Ref make_prims_functions();  // of the ops that only graphs have
void register_op_methods();

}  // namespace md
