#include "bindings/bindings.h"
#include "cpython/errors.h"

namespace md {

void bind_exceptions(pybind11::module_&) {
  pybind11::register_local_exception_translator([](std::exception_ptr exception) {
    if (!exception) return;
    try {
      std::rethrow_exception(exception);
    } catch (const Error&) {
      set_error_from_current_exception();
    } catch (const PythonError&) {
      set_error_from_current_exception();
    }
  });
}

}  // namespace md
