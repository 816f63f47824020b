// What minidynamo/_families/numpy.py tells of NumPy.
#include <string>

#include "bindings/bindings.h"
#include "bindings/table_names.h"
#include "bindings/tensor_meaning.h"
#include "frontends/numpy/arrays.h"
#include "frontends/numpy/family.h"
#include "frontends/numpy/library.h"
#include "frontends/numpy/promotion.h"
#include "frontends/numpy/state.h"

namespace py = pybind11;

namespace md {
namespace {

// What is read of an object, for the self-check; None: it is not captured.
py::object facts_of(const py::object& object) {
  bool is_array = Py_IS_TYPE(object.ptr(), numpy::library().array);
  TensorView view;
  if (!(is_array ? numpy::read_array : numpy::read_scalar)(object.ptr(), view)) return py::none();
  py::list sizes, strides;
  for (int i = 0; i < view.rank; ++i) {
    sizes.append(view.sizes[i]);
    strides.append(view.strides[i] * static_cast<int64_t>(item_size(view.dtype)));
  }
  return py::make_tuple(row(view.dtype).name, py::tuple(sizes), py::tuple(strides),
                        reinterpret_cast<uintptr_t>(view.data), numpy::is_writable(object.ptr()));
}

}  // namespace

static void bind_callables(py::module_& numpy) {
  numpy.def(
      "add",
      [](const py::object& callable, const std::string& name, const std::string& kind, const py::object& operand,
         bool is_method, bool returns_arrays, bool takes_complex, bool of_part, bool takes_strangers,
         const py::object& elaborate) {
        TensorCallable meaning = meaning_of(callable, name, kind, operand, is_method);
        meaning.returns_arrays = returns_arrays;
        meaning.takes_complex = takes_complex;
        meaning.is_of_part = of_part;
        meaning.takes_strangers = takes_strangers;
        if (!elaborate.is_none()) meaning.elaborate = Py_NewRef(elaborate.ptr());
        numpy::add_callable(callable.ptr(), meaning);
      },
      py::arg("callable"), py::arg("name"), py::arg("kind"), py::arg("operand") = py::none(), py::kw_only(),
      py::arg("method") = false, py::arg("returns_arrays") = false, py::arg("takes_complex") = true,
      py::arg("of_part") = false, py::arg("takes_strangers") = false, py::arg("elaborate") = py::none());
  numpy.def(
      "add_host_call",
      [](const py::object& callable, const std::string& name, const py::object& self_type) {
        TensorCallable meaning = meaning_of(callable, name, "HostCall", py::none(), !self_type.is_none());
        if (!self_type.is_none()) meaning.self_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(self_type.ptr()));
        numpy::add_host_call(callable.ptr(), meaning);
      },
      py::arg("callable"), py::arg("name"), py::arg("self_type"));
  numpy.def(
      "kinds",
      [](const py::object& callable) {
        std::vector<std::string> kinds;
        const TensorCallable* known = numpy::arrays().find(callable.ptr());
        if (known != nullptr) kinds.emplace_back(tensor_callable_name(known->kind));
        if (known != nullptr && known->as_it_is != nullptr) kinds.emplace_back("HostCall");
        return kinds;
      },
      "The rows of tensor_callables.def that the callable is.");
}

void bind_numpy(py::module_& module) {
  py::module_ numpy = module.def_submodule("_numpy");
  numpy.def("load", [](const py::object& library, const py::object& umath) {
    numpy::load(library.ptr(), umath.ptr());
    return numpy::can_read_state();
  });
  numpy.def("start", [] { numpy::start(); });
  numpy.def("facts", facts_of);
  bind_callables(numpy);
  numpy.def("set_tracer_of_host_calls",
            [](const py::function& tracer) { numpy::set_tracer_of_host_calls(tracer.ptr()); });
  numpy.def(
      "add_attribute",
      [](const std::string& name, const py::function& function, bool takes_complex) {
        TensorCallable meaning = meaning_of(function, name, "StandIn", function, false);
        meaning.takes_complex = takes_complex;
        numpy::add_attribute(kept_name(name), meaning);
      },
      py::arg("name"), py::arg("function"), py::arg("takes_complex"));
  numpy.def(
      "add_part",
      [](const std::string& name, const py::type& type, const py::object& maker) {
        numpy::add_part(kept_name(name), reinterpret_cast<PyTypeObject*>(type.ptr()), maker.ptr());
      },
      py::arg("name"), py::arg("type"), py::arg("maker"));
  numpy.def("add_ufunc", [](const std::string& row, const py::object& ufunc, const std::string& name) {
    const OpRow* found = find_op(row);
    MD_ASSERT(found != nullptr, "no op is named ", row);
    numpy::ExactLoops loops = name == "Same"       ? numpy::ExactLoops::Same
                              : name == "ByNumber" ? numpy::ExactLoops::ByNumber
                                                   : numpy::ExactLoops::None;
    numpy::add_ufunc(*found, ufunc.ptr(), loops);
  });
}

}  // namespace md
