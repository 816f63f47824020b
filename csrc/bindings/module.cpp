// The extension module, for the main interpreter only: its state is process-wide.
#include "bindings/bindings.h"
#include "cpython/imports.h"

PYBIND11_MODULE(_C_of_process, module) {
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
  md::bind_check_captures(module);
  md::bind_build_info(module);
  md::bind_events(module);
  md::bind_bytecode(module);
  md::bind_everywhere(module);
  md::bind_frame_stress(module);
  md::bind_guards(module);
  md::bind_traced_calls(module);
  md::bind_tensor(module);
  md::bind_numpy_routines(module);
  md::bind_torch(module);
  md::bind_numpy(module);
  md::start_engine(module);
}

namespace {

bool refuse_sub_interpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return false;
  PyErr_SetString(PyExc_ImportError,
                  "minidynamo does not support sub-interpreters: it can be imported in the main interpreter only");
  return true;
}

using CreateModule = PyObject* (*)(PyObject * spec, PyModuleDef* definition);
CreateModule create_for_process = nullptr;

PyObject* create_module(PyObject* spec, PyModuleDef* definition) {
  return refuse_sub_interpreter() ? nullptr : create_for_process(spec, definition);
}

// Runs our check before that of the binding library. Since 3.12 the slot must claim support for subinterpreters, or the
// interpreter would refuse first, without stating the reason.
void refuse_in(PyModuleDef_Slot* slots) {
  for (PyModuleDef_Slot* slot = slots; slot->slot != 0; ++slot) {
    if (slot->slot == Py_mod_create && slot->value != reinterpret_cast<void*>(&create_module)) {
      create_for_process = reinterpret_cast<CreateModule>(slot->value);
      slot->value = reinterpret_cast<void*>(&create_module);
    }
#ifdef Py_mod_multiple_interpreters
    if (slot->slot == Py_mod_multiple_interpreters) slot->value = Py_MOD_PER_INTERPRETER_GIL_SUPPORTED;
#endif
  }
}

}  // namespace

// 3.13 calls this in the main interpreter whichever one imports, and the slot in the importing one;
// earlier versions call both there.
extern "C" PYBIND11_EXPORT PyObject* PyInit__C() {
  if (refuse_sub_interpreter()) return nullptr;
  PyObject* definition = PyInit__C_of_process();
  if (definition != nullptr) refuse_in(reinterpret_cast<PyModuleDef*>(definition)->m_slots);
  return definition;
}
