// The engine's counters, its reset, and its setup at import.
#include "base/host_hooks.h"
#include "bindings/bindings.h"
#include "bytecode/bytecode.h"
#include "cpython/imports.h"
#include "cpython/object_protocol.h"
#include "eval_frame/capture_scope.h"
#include "eval_frame/code_cache.h"
#include "eval_frame/counters.h"
#include "eval_frame/left_code.h"
#include "eval_frame/signal_service.h"
#include "frontends/device_object.h"
#include "frontends/dtype_object.h"
#include "frontends/layout_object.h"
#include "frontends/memory_format_object.h"
#include "frontends/minidynamo/family.h"
#include "frontends/minidynamo/tensor_object.h"
#include "frontends/size_object.h"
#include "guards/guarded_ref.h"
#include "guards/tensor_family.h"
#include "snapshot/policy.h"
#include "snapshot/policy_function.h"
#include "symbolic/builtins/pure_calls.h"
#include "symbolic/calls/constructed_objects.h"
#include "symbolic/calls/marked_calls.h"
#include "symbolic/calls/mode_calls.h"
#include "symbolic/calls/polyfills.h"
#include "symbolic/calls/slot_calls.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"
#include "tensor/gemm/packed_weights.h"

namespace py = pybind11;

namespace md {

namespace {

py::dict read_counters() {
  py::dict result;
  for (const CounterRow& row : kCounterRows) result[row.name] = counters().*row.field;
  return result;
}

void skip_folders() {
  // The folder of os.py is the standard library's.
  for (const char* module : {"os", "minidynamo"}) {
    py::str file = py::str(py::module_::import(module).attr("__file__"));
    std::string path = file;
    path.resize(path.rfind('/') + 1);
    add_skipped_folder(py::str(path).ptr());
  }
}

// Registers a subclass of Tensor that behaves as Tensor in every operation; results are plain Tensors. Never released.
void register_tensor_subclass(const py::type& type) {
  auto* subclass = reinterpret_cast<PyTypeObject*>(type.ptr());
  if (PyType_IsSubtype(subclass, &tensor_type) == 0)
    raise(ErrorKind::Type, "a subclass of Tensor is expected, not ", subclass->tp_name);
  if (find_family(subclass) != nullptr) return;
  Py_INCREF(subclass);
  register_tensor_type(subclass, own_family());
}

}  // namespace

void start_engine(py::module_& module) {
  Bytecode::reserve_place();
  CodeCache::reserve_place();
  reserve_place_of_facts();
  host_hooks.operation_listener = &LeftCode::note_operation;
  serve_signals_in_plans();
  check_status(pv_learn_annotate_names());
  skip_folders();
  for (PyTypeObject* type : {dtype_type(), device_type(), layout_type(), memory_format_type()})
    register_constant_type(type);
  register_value_type(size_type());
  register_mode_call("tensor", module.attr("tensor").ptr());
  for (const char* name :
       {"exchange_grad_mode", "exchange_inference_mode", "exchange_autocast_enabled", "exchange_autocast_dtype",
        "exchange_autocast_cache", "is_autocasting", "autocast_dtype", "exchange_error_on_graph_break",
        "error_on_graph_break", "is_tracing", "run_backward", "holds", "data_holds", "as_size"})
    register_mode_call(name, module.attr((std::string("_") + name).c_str()).ptr());
  for (const char* name : {"is_autocast_cache_enabled", "clear_autocast_cache", "is_grad_enabled", "get_default_dtype",
                           "set_default_dtype", "is_tensor", "as_tensor", "manual_seed", "Tensor"})
    register_mode_call(name, module.attr(name).ptr());
  for (const char* name : {"new_tensor", "requires_grad_", "backward"})
    register_mode_call(name, module.attr("Tensor").attr(name).ptr());
  register_pure_call(module.attr("promote_types").ptr());
  register_mode_call("PolicyFunction", reinterpret_cast<PyObject*>(policy_function_type()));
}

void bind_engine(py::module_& module) {
  module.def("_hold_module", [](const py::module_& held) { hold_own_module(held.ptr()); });
  module.def("engine_counters", read_counters, "What the engine has done since the start or the last reset.");
  module.def("_packed_weights_bytes", packed_weights_bytes, "Of all weights that are kept in a layout of products.");
  fill_call_registry();
  module.def("_register_call",
             [](const std::string& name, const py::object& callable) { register_mode_call(name, callable.ptr()); });
  module.def(
      "_register_polyfill",
      [](const py::object& callable, const py::function& function, const std::string& parameters,
         const py::object& inner) {
        register_polyfill(callable.ptr(), function.ptr(), parameters, inner.is_none() ? nullptr : inner.ptr());
      },
      py::arg("callable"), py::arg("function"), py::kw_only(), py::arg("parameters") = "",
      py::arg("inner") = py::none());
  module.def("_register_slot", [](const py::str& name, const std::string& form, const py::function& function) {
    register_slot(name.ptr(), form, function.ptr());
  });
  module.def(
      "_disable_code",
      [](const py::object& code, bool recursive) {
        if (!PyCode_Check(code.ptr())) raise(ErrorKind::Type, "a code object is expected");
        disable_code(code.ptr(), recursive ? Disabled::All : Disabled::Frame);
        CodeFacts& facts = facts_of(reinterpret_cast<PyCodeObject*>(code.ptr()));  // it may have run before
        (recursive ? facts.leaves_callees : facts.skips_inner) = true;
      },
      py::arg("code"), py::kw_only(), py::arg("recursive"));
  module.def("_ignore_marks_in", [](const std::string& path) { ignore_marks_in(path); });
  module.def("_capture_numbers_in", [](const std::string& path) { capture_numbers_in(path); });
  module.def("_leave_files", [](const std::string& path) { leave_files(path); });
  module.def("_register_made_class", [](const py::type& type, const py::function& function) {
    register_made_class(reinterpret_cast<PyTypeObject*>(type.ptr()), function.ptr());
  });
  module.def("_register_tensor_type", &register_tensor_subclass);
}

}  // namespace md
