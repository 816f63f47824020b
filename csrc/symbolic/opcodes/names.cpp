// Names in the body of a class statement. Other code that looks names up in a dict is not walked.
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/cells.h"
#include "symbolic/facts/name_spaces.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

DictValue& names_of(Walk& walk, const Instruction& at) {
  if (!walk.frames().innermost().names) graph_break(BreakReason::unsupported_opcode, opcode_name(at.op));
  return *walk.frames().innermost().names;
}

ValuePtr find(const DictValue& names, BorrowedRef name) {
  int at = names.find(name);
  return at < 0 ? nullptr : names.entries[static_cast<size_t>(at)].value;
}

void load_name(Walk& walk, const Instruction& at) {
  BorrowedRef name = walk.frames().bytecode().name(at.arg);
  ValuePtr value = find(names_of(walk, at), name);
  walk.frames().push(value ? value : global_value(walk, name));
}

void store_name(Walk& walk, const Instruction& at) {
  names_of(walk, at).set(walk.frames().bytecode().name(at.arg), walk.frames().peek());
  walk.frames().pop();
}

void delete_name(Walk& walk, const Instruction& at) {
  if (!names_of(walk, at).erase(walk.frames().bytecode().name(at.arg))) raise_here();
}

void setup_annotations(Walk& walk, const Instruction& at) {
  static PyObject* const kAnnotations = PyUnicode_InternFromString("__annotations__");
  DictValue& names = names_of(walk, at);
  if (names.find(kAnnotations) < 0) names.set(kAnnotations, make_value<DictValue>());
}

void load_locals(Walk& walk, const Instruction& at) {
  names_of(walk, at);
  walk.frames().push(walk.frames().innermost().names);
}

ValuePtr from_cell(Walk& walk, int slot) {
  auto* cell = as<CellValue>(walk.frames().innermost().slots[slot]);
  MD_ASSERT(cell != nullptr, "slot ", slot, " holds no cell");
  ValuePtr contents = load_cell(walk, cell);
  if (!contents) raise_here();
  return contents;
}

void load_class_deref(Walk& walk, const Instruction& at) {
  ValuePtr value = find(names_of(walk, at), walk.frames().bytecode().slot_name(at.arg));
  walk.frames().push(value ? value : from_cell(walk, at.arg));
}

// The dict on the stack is that of the class body, here or around.
ValuePtr from_dict(Walk& walk, const Instruction& at, BorrowedRef name) {
  auto* names = as<DictValue>(walk.frames().peek());
  if (names == nullptr || names->type) graph_break(BreakReason::unsupported_opcode, opcode_name(at.op));
  return find(*names, name);
}

void load_from_dict_or_deref(Walk& walk, const Instruction& at) {
  ValuePtr value = from_dict(walk, at, walk.frames().bytecode().slot_name(at.arg));
  if (!value) value = from_cell(walk, at.arg);
  walk.frames().pop();
  walk.frames().push(std::move(value));
}

void load_from_dict_or_globals(Walk& walk, const Instruction& at) {
  BorrowedRef name = walk.frames().bytecode().name(at.arg);
  ValuePtr value = from_dict(walk, at, name);
  if (!value) value = global_value(walk, name);
  walk.frames().pop();
  walk.frames().push(std::move(value));
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
