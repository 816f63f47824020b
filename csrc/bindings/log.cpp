#include "base/log.h"
#include "base/host_hooks.h"

#include <string_view>

#include "base/error.h"
#include "bindings/bindings.h"
#include "cpython/imports.h"
#include "snapshot/serving_code.h"

namespace py = pybind11;

namespace md {
namespace {

// Sends a record to minidynamo._log_records. Its exceptions are reported, not raised: a log handler must not
// change the program's behaviour.
void send_to_python(int artifact, const std::string& text) {
  py::gil_scoped_acquire gil;
  py::error_scope keep_current_exception;
  ServingCode serving;
  try {
    py::object name = artifact < 0 ? py::object(py::none()) : py::str(kLogRows[artifact].name);
    Ref emit = imported("minidynamo._log_records", artifact == kLogInfo ? "emit_info" : "emit");
    py::handle(emit.get())(name, text);
  } catch (const PythonError&) {
    PyErr_WriteUnraisable(nullptr);
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("minidynamo log record");
  }
}

LogArtifact artifact_by_name(std::string_view name) {
  for (int i = 0; i < kLogArtifactCount; ++i) {
    if (name == kLogRows[i].name) return static_cast<LogArtifact>(i);
  }
  raise(ErrorKind::Value, "there is no log artifact named '", name, "'");
}

py::dict row_facts(const LogRow& row) {
  py::dict facts;
  facts["name"] = row.name;
  facts["off_in_all"] = row.off_in_all;
  facts["doc"] = row.doc;
  return facts;
}

}  // namespace

void bind_log(py::module_& module) {
  host_hooks.log_sink = &send_to_python;
  module.def("log_rows", [] {
    py::list rows;
    for (const LogRow& row : kLogRows) rows.append(row_facts(row));
    return rows;
  });
  module.def(
      "set_log_enabled",
      [](const std::string& name, bool enabled) { set_log_enabled(artifact_by_name(name), enabled); }, py::arg("name"),
      py::arg("enabled"), py::pos_only());
  module.def(
      "log_enabled", [](const std::string& name) { return log_enabled(artifact_by_name(name)); }, py::arg("name"),
      py::pos_only());
  module.def(
      "log_event", [](const std::string& name, const std::string& text) { log_event(artifact_by_name(name), text); },
      py::arg("name"), py::arg("text"), py::pos_only());
  module.def("set_log_info_enabled", &set_log_info_enabled, py::arg("enabled"), py::pos_only());
  // Called from Python: no frame is in the middle of an instruction.
  module.def(
      "log_warning",
      [](const std::string& text) {
        py::handle(imported("minidynamo._log_records", "use_logging").get())();
        log_warning(text);
      },
      py::arg("text"), py::pos_only());
}

}  // namespace md
