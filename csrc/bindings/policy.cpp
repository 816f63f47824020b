#include "snapshot/policy.h"

#include "bindings/bindings.h"
#include "snapshot/policy_function.h"

namespace py = pybind11;

namespace md {

void bind_policy(py::module_& module) {
  module.attr("PolicyFunction") = py::handle(reinterpret_cast<PyObject*>(policy_function_type()));
  module.def("_exchange_error_on_graph_break", &exchange_error_on_graph_break, py::arg("value").noconvert(),
             py::pos_only());
  module.def("_error_on_graph_break", &error_on_graph_break);
}

}  // namespace md
