// Constants, locals, cells, globals and the stack.
#include "cpython/imports.h"
#include "cpython/text.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
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

void nop(Tracer&, const Instruction&) {}
void pop_top(Tracer& tracer, const Instruction&) {
  release_value(tracer, tracer.frames().peek());
  // On the stack, and on the stack before this instruction.
  close_if_dropped(tracer, tracer.frames().peek(), 2);
  tracer.frames().pop();
}

void push_null(Tracer& tracer, const Instruction&) { tracer.frames().push(tracer.frames().null()); }
void copy(Tracer& tracer, const Instruction& at) { tracer.frames().push(tracer.frames().peek(at.arg)); }
void swap(Tracer& tracer, const Instruction& at) { std::swap(tracer.frames().peek(), tracer.frames().peek(at.arg)); }

void load_const(Tracer& tracer, const Instruction& at) {
  tracer.frames().push(tracer.values().constant(tracer.frames().bytecode().constant(at.arg)));
}

void load_fast(Tracer& tracer, const Instruction& at) {
  ValuePtr value = tracer.frames().innermost().slots[at.arg];
  if (value->kind == ValueKind::Null) raise_here();
  tracer.frames().push(std::move(value));
}

void load_fast_and_clear(Tracer& tracer, const Instruction& at) { tracer.frames().push(clear_slot(tracer, at.arg)); }

void store_fast(Tracer& tracer, const Instruction& at) {
  release_value(tracer, tracer.frames().innermost().slots[at.arg]);
  close_if_dropped(tracer, tracer.frames().innermost().slots[at.arg]);
  ValuePtr value = tracer.frames().pop();
  auto* object = as<ObjectValue>(value);
  // Restores a cell that was on the stack during an inlined comprehension with a variable of the same name.
  bool is_cell = object != nullptr && object->source != nullptr && Py_IS_TYPE(object->object.get(), &PyCell_Type) &&
                 tracer.frames().bytecode().slot_kind(at.arg) != SlotKind::Local;
  tracer.frames().innermost().slots[at.arg] =
      is_cell ? cell_at(tracer, object->source, object->object) : std::move(value);
}

void delete_fast(Tracer& tracer, const Instruction& at) {
  ValuePtr& slot = tracer.frames().innermost().slots[at.arg];
  if (slot->kind == ValueKind::Null) raise_here();
  release_value(tracer, slot);
  close_if_dropped(tracer, slot);
  clear_slot(tracer, at.arg);
}

void make_cell(Tracer& tracer, const Instruction& at) {
  ValuePtr& slot = tracer.frames().innermost().slots[at.arg];
  auto cell = make_value<CellValue>();
  if (slot->kind != ValueKind::Null) cell->contents = slot;
  slot = cell;
}

// The cells of the running function's closure fill the last slots.
void copy_free_vars(Tracer& tracer, const Instruction& at) {
  SymbolicFrame& frame = tracer.frames().innermost();
  int first = frame.bytecode->slot_count() - at.arg;
  if (auto* function = as<FunctionValue>(frame.function)) {
    for (int i = 0; i < at.arg; ++i) frame.slots[first + i] = function->closure[i];
    return;
  }
  auto* function = as<ObjectValue>(frame.function);
  PyObject* closure = PyFunction_GET_CLOSURE(function->object.get());
  for (int i = 0; i < at.arg; ++i) {
    const Source* source = tracer.sources().get(SourceKind::Closure, function->source, nullptr, i);
    frame.slots[first + i] = cell_at(tracer, source, Ref::share(PyTuple_GET_ITEM(closure, i)));
  }
}

void load_closure(Tracer& tracer, const Instruction& at) {
  tracer.frames().push(tracer.frames().innermost().slots[at.arg]);
}

CellValue* cell_in(Tracer& tracer, int slot) {
  auto* cell = as<CellValue>(tracer.frames().innermost().slots[slot]);
  MD_ASSERT(cell != nullptr, "slot ", slot, " holds no cell");
  return cell;
}

void load_deref(Tracer& tracer, const Instruction& at) {
  ValuePtr contents = load_cell(tracer, cell_in(tracer, at.arg));
  if (!contents) raise_here();
  tracer.frames().push(std::move(contents));
}

void store_deref(Tracer& tracer, const Instruction& at) {
  cell_in(tracer, at.arg);
  store_cell(tracer, tracer.frames().innermost().slots[at.arg], tracer.frames().pop());
}

void delete_deref(Tracer& tracer, const Instruction& at) {
  if (!load_cell(tracer, cell_in(tracer, at.arg))) raise_here();
  store_cell(tracer, tracer.frames().innermost().slots[at.arg], nullptr);
}

void load_global(Tracer& tracer, const Instruction& at) {
  tracer.frames().push(global_value(tracer, tracer.frames().bytecode().name(at.arg)));
}

ValuePtr plain_globals(Tracer& tracer) {
  ValuePtr dict = globals_dict(tracer, ValuePtr(globals_function(tracer)));
  if (!tracer.values().is_exactly(dict, &PyDict_Type)) graph_break(BreakReason::store_global);
  return dict;
}

// Module dicts hold plain str keys: a store runs no code.
void store_global(Tracer& tracer, const Instruction& at) {
  ValuePtr dict = plain_globals(tracer);
  store_in_dict(tracer, dict, tracer.frames().bytecode().name(at.arg), tracer.frames().peek());
  tracer.frames().pop();
}

void delete_global(Tracer& tracer, const Instruction& at) {
  if (!dict_delete(tracer, plain_globals(tracer), tracer.frames().bytecode().name(at.arg))) raise_here();
}

template <BreakReason reason>
void break_with_name(Tracer& tracer, const Instruction& at) {
  graph_break(reason, text_of(tracer.frames().bytecode().name(at.arg)));
}

void load_build_class(Tracer& tracer, const Instruction&) {
  static PyObject* const kBuildClass = PyUnicode_InternFromString("__build_class__");
  tracer.frames().push(builtin_value(tracer, globals_function(tracer), kBuildClass));
}

void load_assertion_error(Tracer& tracer, const Instruction&) {
  tracer.frames().push(tracer.values().constant(PyExc_AssertionError));
}

// Returns true if the import statement only reads sys.modules: __import__ is the builtin, and the module is not being
// loaded.
bool imports_from_table(Tracer& tracer, ObjectValue* function, BorrowedRef name) {
  static PyObject* const kImport = PyUnicode_InternFromString("__import__");
  static PyObject* const original = imported("builtins", "__import__").release();
  auto* model = reinterpret_cast<PyFunctionObject*>(function->object.get());
  if (!PyDict_CheckExact(model->func_builtins) || !PyDict_CheckExact(PyImport_GetModuleDict())) return false;
  ValuePtr importer = builtin_value(tracer, function, kImport);
  if (tracer.values().identity_of(importer).get() != original) return false;
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

ValuePtr imported_module(Tracer& tracer, BorrowedRef name) {
  ValuePtr module = loaded_module(tracer, name);
  if (module) tracer.values().identity_of(module);
  return module;
}

// An import of a module that is already loaded: `import a`, `from a import b`.
void import_name(Tracer& tracer, const Instruction& at) {
  BorrowedRef name = tracer.frames().bytecode().name(at.arg);
  ValuePtr names = tracer.frames().peek(1);
  std::optional<int64_t> level = int_of(tracer, tracer.frames().peek(2));
  if (level != 0 || !imports_from_table(tracer, globals_function(tracer), name))
    break_with_name<BreakReason::import_statement>(tracer, at);
  ValuePtr module = imported_module(tracer, name);
  auto wanted = elements_of(tracer, names);
  // `import a.b` binds a.
  Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name.get()), 1);
  if ((!wanted || wanted->empty()) && dot > 0)
    module = imported_module(tracer, check(PyUnicode_Substring(name, 0, dot)).get());
  if (!module) break_with_name<BreakReason::import_statement>(tracer, at);
  // Names that the package lacks may be submodules still to be loaded.
  if (wanted)
    for (const ValuePtr& each : *wanted) {
      Ref text = constant_of(tracer, each);
      if (!text || !optional_attribute(tracer, module, text.get()))
        break_with_name<BreakReason::import_statement>(tracer, at);
    }
  tracer.frames().pop_many(2);
  tracer.frames().push(std::move(module));
}

void import_from(Tracer& tracer, const Instruction& at) {
  auto* module = as<ObjectValue>(tracer.frames().peek());
  ValuePtr value = module != nullptr && PyModule_CheckExact(module->object.get())
                       ? optional_attribute(tracer, tracer.frames().peek(), tracer.frames().bytecode().name(at.arg))
                       : nullptr;
  if (!value) break_with_name<BreakReason::import_statement>(tracer, at);
  tracer.frames().push(std::move(value));
}

void import_star(Tracer& tracer, const Instruction& at) { break_with_name<BreakReason::import_statement>(tracer, at); }

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
