// Names in the body of a class statement. Other code that looks names up in a dict is not traced.
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/cells.h"
#include "symbolic/facts/name_spaces.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

DictValue& names_of(Tracer& tracer, const Instruction& at) {
  if (!tracer.frames().innermost().names) graph_break(BreakReason::unsupported_opcode, opcode_name(at.op));
  return *tracer.frames().innermost().names;
}

ValuePtr find(const DictValue& names, BorrowedRef name) {
  int at = names.find(name);
  return at < 0 ? nullptr : names.entries[static_cast<size_t>(at)].value;
}

void load_name(Tracer& tracer, const Instruction& at) {
  BorrowedRef name = tracer.frames().bytecode().name(at.arg);
  ValuePtr value = find(names_of(tracer, at), name);
  tracer.frames().push(value ? value : global_value(tracer, name));
}

void store_name(Tracer& tracer, const Instruction& at) {
  names_of(tracer, at).set(tracer.frames().bytecode().name(at.arg), tracer.frames().peek());
  tracer.frames().pop();
}

void delete_name(Tracer& tracer, const Instruction& at) {
  if (!names_of(tracer, at).erase(tracer.frames().bytecode().name(at.arg))) raise_here();
}

void setup_annotations(Tracer& tracer, const Instruction& at) {
  static PyObject* const kAnnotations = PyUnicode_InternFromString("__annotations__");
  DictValue& names = names_of(tracer, at);
  if (names.find(kAnnotations) < 0) names.set(kAnnotations, make_value<DictValue>());
}

void load_locals(Tracer& tracer, const Instruction& at) {
  names_of(tracer, at);
  tracer.frames().push(tracer.frames().innermost().names);
}

ValuePtr from_cell(Tracer& tracer, int slot) {
  auto* cell = as<CellValue>(tracer.frames().innermost().slots[slot]);
  MD_ASSERT(cell != nullptr, "slot ", slot, " holds no cell");
  ValuePtr contents = load_cell(tracer, cell);
  if (!contents) raise_here();
  return contents;
}

void load_class_deref(Tracer& tracer, const Instruction& at) {
  ValuePtr value = find(names_of(tracer, at), tracer.frames().bytecode().slot_name(at.arg));
  tracer.frames().push(value ? value : from_cell(tracer, at.arg));
}

// The dict on the stack is the namespace of this class body, or of an enclosing one.
ValuePtr from_dict(Tracer& tracer, const Instruction& at, BorrowedRef name) {
  auto* names = as<DictValue>(tracer.frames().peek());
  if (names == nullptr || names->type) graph_break(BreakReason::unsupported_opcode, opcode_name(at.op));
  return find(*names, name);
}

void load_from_dict_or_deref(Tracer& tracer, const Instruction& at) {
  ValuePtr value = from_dict(tracer, at, tracer.frames().bytecode().slot_name(at.arg));
  if (!value) value = from_cell(tracer, at.arg);
  tracer.frames().pop();
  tracer.frames().push(std::move(value));
}

void load_from_dict_or_globals(Tracer& tracer, const Instruction& at) {
  BorrowedRef name = tracer.frames().bytecode().name(at.arg);
  ValuePtr value = from_dict(tracer, at, name);
  if (!value) value = global_value(tracer, name);
  tracer.frames().pop();
  tracer.frames().push(std::move(value));
}

const OpcodeRegistration registration{{Opcode::LOAD_NAME, load_name},
                                      {Opcode::STORE_NAME, store_name},
                                      {Opcode::DELETE_NAME, delete_name},
                                      {Opcode::SETUP_ANNOTATIONS, setup_annotations},
                                      {Opcode::LOAD_LOCALS, load_locals},
                                      {Opcode::LOAD_CLASSDEREF, load_class_deref},
                                      {Opcode::LOAD_FROM_DICT_OR_DEREF, load_from_dict_or_deref},
                                      {Opcode::LOAD_FROM_DICT_OR_GLOBALS, load_from_dict_or_globals}};

}  // namespace

}  // namespace md
