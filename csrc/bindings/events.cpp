// Events for Python: a listener, the trace directory, and the duration of captures.
#include "base/events.h"
#include "base/host_hooks.h"

#include <pybind11/stl.h>

#include "base/trace_file.h"
#include "bindings/bindings.h"
#include "eval_frame/compile_times.h"
#include "snapshot/serving_code.h"

namespace py = pybind11;

namespace md {
namespace {

// Lives as long as the process; called under the GIL.
py::object& listener() {
  static auto* object = new py::object(py::none());
  return *object;
}

// Exceptions of the listener are reported, not raised: it must not change the program's behaviour.
void call_listener(EventKind kind, const std::string& line) {
  py::gil_scoped_acquire gil;
  py::error_scope keep_current_exception;
  ServingCode serving;
  py::object callable = listener();
  try {
    callable(kEventRows[static_cast<int>(kind)].name, line);
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("minidynamo event");
  }
}

py::list event_rows() {
  py::list rows;
  for (const EventRow& row : kEventRows) {
    py::dict facts;
    facts["name"] = row.name;
    facts["doc"] = row.doc;
    facts["fields"] = row.fields;
    rows.append(facts);
  }
  return rows;
}

}  // namespace

void bind_events(py::module_& module) {
  std::string version = py::str(module.attr("__version__"));
  module.def("event_rows", event_rows);
  module.def(
      "_set_event_listener",
      [](const py::object& callable) {
        listener() = callable;
        host_hooks.event_listener = callable.is_none() ? nullptr : &call_listener;
      },
      py::arg("callable"), py::pos_only(), "callable(kind, line) for every event; None: no listener.");
  module.def(
      "set_trace_directory", [version](const std::string& directory) { set_trace_directory(directory, version); },
      py::arg("directory"), py::pos_only(), "Where MINIDYNAMO_TRACE writes from now on; \"\": nowhere.");
  module.def("trace_path", &trace_path, "The file that this process writes; \"\": none yet.");
  module.def("compile_times", [] {
    std::vector<std::pair<int64_t, int64_t>> times;
    for (const CompileTime& time : compile_times().recent()) times.emplace_back(time.trace_ns, time.plan_ns);
    CompileTime total = compile_times().total();
    return py::make_tuple(times, std::make_pair(total.trace_ns, total.plan_ns));
  });
  load_trace_from_environment(version);
}

}  // namespace md
