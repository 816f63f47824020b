// Exposes a code object's neutral instructions to tests and logs.
#include "bytecode/bytecode.h"

#include "bindings/bindings.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace md {
namespace {

const Bytecode& bytecode_of(const py::object& code) {
  if (!PyCode_Check(code.ptr())) throw py::type_error("a code object is required");
  try {
    return *Bytecode::of(reinterpret_cast<PyCodeObject*>(code.ptr()));
  } catch (const PythonError&) {
    throw py::error_already_set();
  }
}

py::list instructions(const py::object& code) {
  const Bytecode& bytecode = bytecode_of(code);
  py::list rows;
  for (int index = 0; index < bytecode.size(); ++index) {
    const Instruction& i = bytecode[index];
    rows.append(py::make_tuple(opcode_name(i.op), i.arg, i.arg2, i.unit, i.lasti, i.resumable, bytecode.depth_at(index),
                               has_target(i.op)));
  }
  return rows;
}

py::list exception_table(const py::object& code) {
  py::list rows;
  for (const HandlerRange& range : bytecode_of(code).handlers()) {
    rows.append(
        py::make_tuple(range.begin, range.end, range.handler.target, range.handler.depth, range.handler.push_lasti));
  }
  return rows;
}

const Bytecode& checked_index(const py::object& code, int index) {
  const Bytecode& bytecode = bytecode_of(code);
  if (index < 0 || index >= bytecode.size()) throw py::index_error("no such instruction");
  return bytecode;
}

py::list live_locals(const py::object& code, int index) {
  const Bytecode& bytecode = checked_index(code, index);
  py::list names;
  for (int slot = 0; slot < bytecode.slot_count(); ++slot) {
    if (bytecode.is_live(index, slot)) names.append(py::reinterpret_borrow<py::object>(bytecode.slot_name(slot).get()));
  }
  return names;
}

}  // namespace

void bind_bytecode(py::module_& module) {
  py::module_ bytecode = module.def_submodule("_bytecode", "The neutral instructions of a code object.");
  bytecode.def("instructions", instructions, py::arg("code"),
               "(opcode, arg, arg2, unit, lasti, resumable, depth, has_target) of each.");
  bytecode.def("exception_table", exception_table, py::arg("code"),
               "(begin, end, target, depth, push_lasti) of each range, in instruction indices.");
  bytecode.def(
      "handler_at",
      [](const py::object& code, int index) { return checked_index(code, index).handler_at(index).target; },
      py::arg("code"), py::arg("index"));
  bytecode.def("live_locals", live_locals, py::arg("code"), py::arg("index"));
  bytecode.def(
      "is_loop_head", [](const py::object& code, int index) { return checked_index(code, index).is_loop_head(index); },
      py::arg("code"), py::arg("index"));
  bytecode.def(
      "index_of_unit", [](const py::object& code, int unit) { return bytecode_of(code).index_of_unit(unit); },
      py::arg("code"), py::arg("unit"));
  bytecode.def(
      "observes_locals", [](const py::object& code) { return bytecode_of(code).observes_locals(); }, py::arg("code"));
  bytecode.def("print", [](const py::object& code) { return bytecode_of(code).print(); }, py::arg("code"));
}

}  // namespace md
