#include "bindings/bindings.h"
#include "cpython/imports.h"

PYBIND11_MODULE(_C, module) {
  md::import_library_modules();
  md::bind_exceptions(module);
  md::bind_config(module);
  md::bind_log(module);
  md::bind_graph_break(module);
  md::bind_policy(module);
  md::bind_engine(module);
  md::bind_compiled_function(module);
  md::bind_graph(module);
  md::bind_reset(module);
  md::bind_captures(module);
  md::bind_build_info(module);
  md::bind_events(module);
  md::bind_bytecode(module);
  md::bind_everywhere(module);
  md::bind_frame_stress(module);
  md::bind_guards(module);
  md::bind_traced_calls(module);
  md::bind_tensor(module);
  md::bind_lapack(module);
  md::start_engine(module);
}
