#include "base/config.h"

#include <pybind11/stl.h>

#include "base/error.h"
#include "bindings/bindings.h"

namespace py = pybind11;

namespace md {
namespace {

ConfigValue to_config_value(const std::string& name, const py::object& value) {
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  if (py::isinstance<py::str>(value)) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (text == nullptr) throw py::error_already_set();
    return std::string(text, static_cast<size_t>(size));
  }
  if (py::isinstance<py::int_>(value)) {
    int overflow = 0;
    int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow != 0) raise(ErrorKind::Overflow, "minidynamo._dynamo.config.", name, ": the integer is too large");
    return number;
  }
  get_config(name);  // an unknown name is reported first
  raise(ErrorKind::Type, "minidynamo._dynamo.config.", name, " must be a bool, an int or a str, not ",
        Py_TYPE(value.ptr())->tp_name);
}

py::dict row_facts(const ConfigRow& row) {
  py::dict facts;
  facts["name"] = row.name;
  facts["type"] = row.type;
  facts["default"] = row.default_value;
  facts["env"] = row.env == nullptr ? py::object(py::none()) : py::str(row.env);
  facts["affects_capture"] = row.affects_capture;
  facts["doc"] = row.doc;
  return facts;
}

struct InertFlag {
  const char* name;
  const char* default_value;  // a Python expression
  const char* doc;
};
constexpr InertFlag kInertFlags[] = {
#define MD_INERT_FLAG(name, default_value, doc) {#name, default_value, doc},
#define MD_FLAG_ALIAS(alias, name)
#include "base/inert_flags.def"
#undef MD_INERT_FLAG
#undef MD_FLAG_ALIAS
};
constexpr std::pair<const char*, const char*> kAliases[] = {
#define MD_INERT_FLAG(name, default_value, doc)
#define MD_FLAG_ALIAS(alias, name) {#alias, #name},
#include "base/inert_flags.def"
#undef MD_INERT_FLAG
#undef MD_FLAG_ALIAS
};

}  // namespace

void bind_config(py::module_& module) {
  module.def("load_config_from_environment", &load_config_from_environment);
  module.def("get_config", [](const std::string& name) { return get_config(name); }, py::arg("name"), py::pos_only());
  module.def(
      "set_config",
      [](const std::string& name, const py::object& value) { set_config(name, to_config_value(name, value)); },
      py::arg("name"), py::arg("value"), py::pos_only());
  module.def("config_rows", [] {
    py::list rows;
    for (const ConfigRow& row : config_rows()) rows.append(row_facts(row));
    return rows;
  });
  module.def("inert_flag_rows", [] {
    py::list rows;
    for (const InertFlag& flag : kInertFlags) rows.append(py::make_tuple(flag.name, flag.default_value, flag.doc));
    return rows;
  });
  module.def("config_aliases", [] {
    py::dict names;
    for (const auto& [alias, name] : kAliases) names[alias] = name;
    return names;
  });
  module.def("config_fingerprint", &config_fingerprint);
}

}  // namespace md
