// locals(), and vars() and dir() without an argument, in a function.
//   1. Up to 3.12 all calls in one frame return the same dict, updated by each call and reachable through the frame: a
//      frame with such a dict must return inside the region, or else the region ends before the call.
//   2. From 3.13 on each call returns a new dict (PEP 667), which includes extra names stored through the frame object.
#include <algorithm>

#include "cpython/imports.h"
#include "cpython/version_facts.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/cells.h"
#include "symbolic/facts/name_spaces.h"
#include "symbolic/trace/outermost_frame.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

[[noreturn]] void break_on_frame(const char* what) { graph_break(BreakReason::frame_inspection, what); }

// Returns true if an inlined comprehension (PEP 709) hides some of the names.
bool hides_names(const Bytecode& code) {
  for (int i = 0; i < code.size(); ++i)
    if (code[i].op == Opcode::LOAD_FAST_AND_CLEAR) return true;
  return false;
}

ValuePtr value_in(Tracer& tracer, const SymbolicFrame& frame, int slot) {
  ValuePtr value = frame.slots[static_cast<size_t>(slot)];
  if (frame.bytecode->slot_kind(slot) == SlotKind::Local) return value->kind == ValueKind::Null ? nullptr : value;
  auto* cell = as<CellValue>(value);
  if (cell == nullptr) break_on_frame("a frame without its cells");
  return load_cell(tracer, cell);
}

// The up-to-date dict of the running frame.
Handle<DictValue> locals_dict(Tracer& tracer, const char* what) {
  SymbolicFrame& frame = tracer.frames().innermost();
  bool is_plain = !frame.names && frame.generator == nullptr && (frame.bytecode->code()->co_flags & CO_OPTIMIZED) != 0;
  if (!is_plain || hides_names(*frame.bytecode)) break_on_frame(what);
  if (may_have_frame_object(tracer)) break_on_frame(what);
  Handle<DictValue> dict = kOneLocalsDict ? frame.locals : Handle<DictValue>();
  if (!dict) dict = tracer.classes().keep_locals(make_value<DictValue>());
  for (int slot = 0; slot < frame.bytecode->slot_count(); ++slot) {
    BorrowedRef name = frame.bytecode->slot_name(slot);
    if (ValuePtr value = value_in(tracer, frame, slot)) {
      dict->set(name, value);
    } else {
      dict->erase(name);
    }
  }
  if (kOneLocalsDict && !frame.locals) {
    frame.locals = dict;
    frame.locals_step = tracer.step_number();
  }
  return dict;
}

ValuePtr call_locals(Tracer& tracer, const CallArgs& args) {
  require_count(args, 0, 0);
  return locals_dict(tracer, "locals()");
}

// dir() without an argument: the sorted names. dir(object) breaks.
ValuePtr call_dir(Tracer& tracer, const CallArgs& args) {
  if (!args.is_empty()) break_on_frame("dir()");
  Ref names = check(PyList_New(0));
  for (const DictValue::Entry& entry : locals_dict(tracer, "dir()")->entries) {
    if (!PyUnicode_CheckExact(entry.key.get())) break_on_frame("dir()");
    check_status(PyList_Append(names, entry.key));
  }
  check_status(PyList_Sort(names));
  auto list = make_value<SequenceValue>(true, std::vector<ValuePtr>{});
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names.get()); ++i)
    list->items.push_back(tracer.values().constant(PyList_GET_ITEM(names.get(), i)));
  return list;
}

}  // namespace

ValuePtr names_of_frame(Tracer& tracer) { return locals_dict(tracer, "vars()"); }

namespace {

void add_local_name_calls() {
  register_call(imported("builtins", "locals").get(), call_locals);
  register_call(imported("builtins", "dir").get(), call_dir);
}

const CallRegistration call_registration(add_local_name_calls);

}  // namespace

}  // namespace md
