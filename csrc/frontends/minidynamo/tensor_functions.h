// The functions of minidynamo that are not ops: tensors from data, dtypes, modes, threads.
#pragma once
#include "cpython/ref.h"

namespace md {

// Adds them to the module together with the tensor type and the objects that its programs name; throws.
void add_tensor_functions(PyObject* module);

}  // namespace md
