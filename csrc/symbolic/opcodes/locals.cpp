// Constants, locals, cells, globals and the stack.
#include "cpython/imports.h"
#include "cpython/text.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/effects/finalizers.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/facts/cells.h"
#include "symbolic/facts/name_spaces.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/outermost_frame.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

void nop(Walk&, const Instruction&) {}
void pop_top(Walk& walk, const Instruction&) {
  let_go(walk, walk.frames().peek());
  walk.frames().pop();
}

void push_null(Walk& walk, const Instruction&) { walk.frames().push(walk.frames().null()); }
void copy(Walk& walk, const Instruction& at) { walk.frames().push(walk.frames().peek(at.arg)); }
void swap(Walk& walk, const Instruction& at) { std::swap(walk.frames().peek(), walk.frames().peek(at.arg)); }

void load_const(Walk& walk, const Instruction& at) {
  walk.frames().push(walk.values().constant(walk.frames().bytecode().constant(at.arg)));
}

void load_fast(Walk& walk, const Instruction& at) {
  ValuePtr value = walk.frames().innermost().slots[at.arg];
  if (value->kind == ValueKind::Null) raise_here();
  walk.frames().push(std::move(value));
}

void load_fast_and_clear(Walk& walk, const Instruction& at) { walk.frames().push(clear_slot(walk, at.arg)); }

void store_fast(Walk& walk, const Instruction& at) {
  let_go(walk, walk.frames().innermost().slots[at.arg]);
  ValuePtr value = walk.frames().pop();
  auto* object = as<ObjectValue>(value);
  // A cell comes back that the stack has kept during an inlined comprehension with a variable of the same name.
  bool is_cell = object != nullptr && object->source != nullptr && Py_IS_TYPE(object->object.get(), &PyCell_Type) &&
                 walk.frames().bytecode().slot_kind(at.arg) != SlotKind::Local;
  walk.frames().innermost().slots[at.arg] = is_cell ? cell_at(walk, object->source, object->object) : std::move(value);
}

void delete_fast(Walk& walk, const Instruction& at) {
  ValuePtr& slot = walk.frames().innermost().slots[at.arg];
  if (slot->kind == ValueKind::Null) raise_here();
  let_go(walk, slot);
  clear_slot(walk, at.arg);
}

void make_cell(Walk& walk, const Instruction& at) {
  ValuePtr& slot = walk.frames().innermost().slots[at.arg];
  auto cell = make_value<CellValue>();
  if (slot->kind != ValueKind::Null) cell->contents = slot;
  slot = cell;
}

// The cells of the running function's closure fill the last slots.
void copy_free_vars(Walk& walk, const Instruction& at) {
  SymbolicFrame& frame = walk.frames().innermost();
  int first = frame.bytecode->slot_count() - at.arg;
  if (auto* function = as<FunctionValue>(frame.function)) {
    for (int i = 0; i < at.arg; ++i) frame.slots[first + i] = function->closure[i];
    return;
  }
  auto* function = as<ObjectValue>(frame.function);
  PyObject* closure = PyFunction_GET_CLOSURE(function->object.get());
  for (int i = 0; i < at.arg; ++i) {
    const Source* source = walk.sources().get(SourceKind::Closure, function->source, nullptr, i);
    frame.slots[first + i] = cell_at(walk, source, Ref::share(PyTuple_GET_ITEM(closure, i)));
  }
}

void load_closure(Walk& walk, const Instruction& at) { walk.frames().push(walk.frames().innermost().slots[at.arg]); }

CellValue* cell_in(Walk& walk, int slot) {
  auto* cell = as<CellValue>(walk.frames().innermost().slots[slot]);
  MD_ASSERT(cell != nullptr, "slot ", slot, " holds no cell");
  return cell;
}

void load_deref(Walk& walk, const Instruction& at) {
  ValuePtr contents = load_cell(walk, cell_in(walk, at.arg));
  if (!contents) raise_here();
  walk.frames().push(std::move(contents));
}

void store_deref(Walk& walk, const Instruction& at) {
  cell_in(walk, at.arg);
  store_cell(walk, walk.frames().innermost().slots[at.arg], walk.frames().pop());
}

void delete_deref(Walk& walk, const Instruction& at) {
  if (!load_cell(walk, cell_in(walk, at.arg))) raise_here();
  store_cell(walk, walk.frames().innermost().slots[at.arg], nullptr);
}

void load_global(Walk& walk, const Instruction& at) {
  walk.frames().push(global_value(walk, walk.frames().bytecode().name(at.arg)));
}

ValuePtr plain_globals(Walk& walk) {
  ValuePtr dict = globals_dict(walk, ValuePtr(globals_function(walk)));
  if (!walk.values().is_exactly(dict, &PyDict_Type)) graph_break(BreakReason::store_global);
  return dict;
}

// Module dicts hold plain str keys: a store runs no code.
void store_global(Walk& walk, const Instruction& at) {
  ValuePtr dict = plain_globals(walk);
  store_in_dict(walk, dict, walk.frames().bytecode().name(at.arg), walk.frames().peek());
  walk.frames().pop();
}

void delete_global(Walk& walk, const Instruction& at) {
  if (!dict_delete(walk, plain_globals(walk), walk.frames().bytecode().name(at.arg))) raise_here();
}

template <BreakReason reason>
void break_with_name(Walk& walk, const Instruction& at) {
  graph_break(reason, text_of(walk.frames().bytecode().name(at.arg)));
}

void load_build_class(Walk& walk, const Instruction&) {
  static PyObject* const kBuildClass = PyUnicode_InternFromString("__build_class__");
  walk.frames().push(builtin_value(walk, globals_function(walk), kBuildClass));
}

void load_assertion_error(Walk& walk, const Instruction&) {
  walk.frames().push(walk.values().constant(PyExc_AssertionError));
}

// Whether the import statement asks nobody but sys.modules: __import__ is the builtin, and the module is not being loaded.
bool imports_from_table(Walk& walk, ObjectValue* function, BorrowedRef name) {
  static PyObject* const kImport = PyUnicode_InternFromString("__import__");
  static PyObject* const original = imported("builtins", "__import__").release();
  auto* model = reinterpret_cast<PyFunctionObject*>(function->object.get());
  if (!PyDict_CheckExact(model->func_builtins) || !PyDict_CheckExact(PyImport_GetModuleDict())) return false;
  ValuePtr importer = builtin_value(walk, function, kImport);
  if (walk.values().identity_of(importer).get() != original) return false;
  Ref module = Ref::steal(PyImport_GetModule(name));
  if (!module || !PyModule_CheckExact(module.get())) {
    PyErr_Clear();
    return false;
  }
  Ref spec = Ref::steal(PyObject_GetAttrString(module, "__spec__"));
  Ref loading = spec ? Ref::steal(PyObject_GetAttrString(spec, "_initializing")) : Ref();
  PyErr_Clear();
  return !loading || loading.get() == Py_False;
}

ValuePtr imported_module(Walk& walk, BorrowedRef name) {
  ValuePtr module = loaded_module(walk, name);
  if (module) walk.values().identity_of(module);
  return module;
}

// A module that is loaded already is what the import statement gives: `import a`, `from a import b`.
void import_name(Walk& walk, const Instruction& at) {
  BorrowedRef name = walk.frames().bytecode().name(at.arg);
  ValuePtr names = walk.frames().peek(1);
  std::optional<int64_t> level = int_of(walk, walk.frames().peek(2));
  if (level != 0 || !imports_from_table(walk, globals_function(walk), name))
    break_with_name<BreakReason::import_statement>(walk, at);
  ValuePtr module = imported_module(walk, name);
  auto wanted = elements_of(walk, names);
  // `import a.b` gives a.
  Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name.get()), 1);
  if ((!wanted || wanted->empty()) && dot > 0)
    module = imported_module(walk, check(PyUnicode_Substring(name, 0, dot)).get());
  if (!module) break_with_name<BreakReason::import_statement>(walk, at);
  // Names that a package does not have yet may be modules to be loaded.
  if (wanted)
    for (const ValuePtr& each : *wanted) {
      Ref text = constant_of(walk, each);
      if (!text || !optional_attribute(walk, module, text.get()))
        break_with_name<BreakReason::import_statement>(walk, at);
    }
  walk.frames().pop_many(2);
  walk.frames().push(std::move(module));
}

void import_from(Walk& walk, const Instruction& at) {
  auto* module = as<ObjectValue>(walk.frames().peek());
  ValuePtr value = module != nullptr && PyModule_CheckExact(module->object.get())
                       ? optional_attribute(walk, walk.frames().peek(), walk.frames().bytecode().name(at.arg))
                       : nullptr;
  if (!value) break_with_name<BreakReason::import_statement>(walk, at);
  walk.frames().push(std::move(value));
}

void import_star(Walk& walk, const Instruction& at) { break_with_name<BreakReason::import_statement>(walk, at); }

const OpcodeRegistration registration{{Opcode::NOP, nop},
                                      {Opcode::RESUME, nop},
                                      {Opcode::POP_TOP, pop_top},
                                      {Opcode::PUSH_NULL, push_null},
                                      {Opcode::COPY, copy},
                                      {Opcode::SWAP, swap},
                                      {Opcode::LOAD_CONST, load_const},
                                      {Opcode::LOAD_FAST, load_fast},
                                      {Opcode::LOAD_FAST_AND_CLEAR, load_fast_and_clear},
                                      {Opcode::STORE_FAST, store_fast},
                                      {Opcode::DELETE_FAST, delete_fast},
                                      {Opcode::MAKE_CELL, make_cell},
                                      {Opcode::COPY_FREE_VARS, copy_free_vars},
                                      {Opcode::LOAD_CLOSURE, load_closure},
                                      {Opcode::LOAD_DEREF, load_deref},
                                      {Opcode::STORE_DEREF, store_deref},
                                      {Opcode::DELETE_DEREF, delete_deref},
                                      {Opcode::LOAD_GLOBAL, load_global},
                                      {Opcode::STORE_GLOBAL, store_global},
                                      {Opcode::DELETE_GLOBAL, delete_global},
                                      {Opcode::LOAD_BUILD_CLASS, load_build_class},
                                      {Opcode::LOAD_ASSERTION_ERROR, load_assertion_error},
                                      {Opcode::IMPORT_NAME, import_name},
                                      {Opcode::IMPORT_FROM, import_from},
                                      {Opcode::IMPORT_STAR, import_star}};

}  // namespace

}  // namespace md
