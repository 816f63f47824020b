// Everywhere mode and its counters.
#include "bindings/bindings.h"
#include "bindings/compiled_function.h"
#include "eval_frame/bailout.h"
#include "eval_frame/frame_entry.h"

namespace py = pybind11;

namespace md {

namespace {

py::dict read_hand_overs() {
  py::dict result;
  for (size_t i = 0; i < kBailoutCount; ++i) result[kBailoutRows[i].name] = bailout_counts()[i];
  return result;
}

py::dict read_rows() {
  py::dict result;
  for (const BailoutRow& row : kBailoutRows) result[row.name] = row.doc;
  return result;
}

}  // namespace

void bind_everywhere(py::module_& module) {
  module.def(
      "_enable_everywhere", [](const py::object& compiled) { enable_everywhere(compile_options_of(compiled.ptr())); },
      "Every new frame of the process goes to the driver, compiled as this CompiledFunction, which has to live "
      "meanwhile.");
  module.def("_disable_everywhere", &disable_everywhere, "Undoes one _enable_everywhere().");
  module.def("_everywhere_enabled", &everywhere_enabled);
  module.def("hand_over_counts", &read_hand_overs,
             "Frames given to the interpreter since the start or the last reset, by reason.");
  module.def("hand_over_rows", &read_rows, "What each reason means.");
}

}  // namespace md
