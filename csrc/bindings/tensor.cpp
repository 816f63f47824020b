#include "bindings/bindings.h"
#include "cpython/errors.h"
#include "frontends/minidynamo/tensor_functions.h"

namespace md {

void bind_tensor(pybind11::module_& module) {
  try {
    add_tensor_functions(module.ptr());
  } catch (...) {
    set_error_from_current_exception();
    throw pybind11::error_already_set();
  }
}

}  // namespace md
