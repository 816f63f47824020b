#include "snapshot/policy.h"

#include "base/error.h"
#include "bindings/bindings.h"
#include "snapshot/policy_function.h"
#include "snapshot/serving_code.h"

namespace py = pybind11;

namespace md {

namespace {

constexpr std::pair<const char*, Stance> kStances[] = {{"default", Stance::Default},
                                                       {"force_eager", Stance::ForceEager},
                                                       {"eager_on_recompile", Stance::EagerOnRecompile},
                                                       {"fail_on_recompile", Stance::FailOnRecompile},
                                                       {"eager_then_compile", Stance::EagerThenCompile},
                                                       {"aot_eager_then_compile", Stance::EagerThenCompile}};

Stance stance_named(const std::string& name) {
  std::string known;
  for (const auto& [each, stance] : kStances) {
    if (name == each) return stance;
    known += str_cat(known.empty() ? "" : ", ", each);
  }
  raise(ErrorKind::Value, "unknown stance '", name, "'; the stances are ", known);
}

std::string stance_name(Stance stance) {
  for (const auto& [name, each] : kStances)
    if (stance == each) return name;
  return "default";
}

}  // namespace

void bind_policy(py::module_& module) {
  module.attr("PolicyFunction") = py::handle(reinterpret_cast<PyObject*>(policy_function_type()));
  module.def("_exchange_error_on_graph_break", &exchange_error_on_graph_break, py::arg("value").noconvert(),
             py::pos_only());
  module.def("_error_on_graph_break", &error_on_graph_break);
  module.def("_is_in_compiled_code", [] { return ambient_policy() != nullptr && !ambient_policy()->disable; });
  module.def(
      "_call_serving",
      [](const py::object& function, const py::args& args, const py::kwargs& kwargs) {
        ServingCode serving;
        return function(*args, **kwargs);
      },
      "Calls a function that serves frames and is no part of the program: nothing of it is captured.");
  module.def("_exchange_stance",
             [](const std::string& name) { return stance_name(exchange_stance(stance_named(name))); });
}

}  // namespace md
