#include "bindings/bindings.h"
#include "symbolic/graph_break.h"

namespace md {

// Everything that minidynamo._dynamo.reset() forgets.
void bind_reset(pybind11::module_& module) {
  module.def("reset", [] { forget_logged_breaks(); });
}

}  // namespace md
