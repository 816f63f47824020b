// One init function per file of this folder; module.cpp calls them in this order.
#pragma once
#include <pybind11/pybind11.h>

namespace md {

void bind_exceptions(pybind11::module_& module);
void bind_config(pybind11::module_& module);
void bind_log(pybind11::module_& module);
void bind_graph_break(pybind11::module_& module);
void bind_policy(pybind11::module_& module);
void bind_engine(pybind11::module_& module);
void bind_captures(pybind11::module_& module);
void bind_check_captures(pybind11::module_& module);
void bind_compiled_function(pybind11::module_& module);
void bind_graph(pybind11::module_& module);
void bind_reset(pybind11::module_& module);
void bind_build_info(pybind11::module_& module);
void bind_events(pybind11::module_& module);
void bind_bytecode(pybind11::module_& module);
void bind_everywhere(pybind11::module_& module);
void bind_frame_stress(pybind11::module_& module);
void bind_guards(pybind11::module_& module);
void bind_traced_calls(pybind11::module_& module);
void bind_tensor(pybind11::module_& module);
void bind_numpy_routines(pybind11::module_& module);
void bind_torch(pybind11::module_& module);
void bind_numpy(pybind11::module_& module);
// Last: registers the functions bound by the others with the engine.
void start_engine(pybind11::module_& module);

}  // namespace md
