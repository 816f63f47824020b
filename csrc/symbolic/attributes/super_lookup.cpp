// super(): attributes after a class in the MRO.
#include "guards/guard_set.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/traced_classes.h"
#include "symbolic/facts/cells.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

// An object that is neither an instance nor a subclass of the class is left to the interpreter.
ValuePtr made_super(Tracer& tracer, const ValuePtr& type_value, const ValuePtr& self) {
  BorrowedRef known = tracer.values().identity_of(type_value);
  if (!known || !PyType_Check(known.get())) raise_here();
  auto* type = reinterpret_cast<PyTypeObject*>(known.get());
  auto* object = as<ObjectValue>(self);
  bool is_class = object != nullptr && PyType_Check(object->object.get()) &&
                  PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(object->object.get()), type) != 0;
  if (is_class) {
    tracer.values().identity_of(self);
  } else if (PyType_IsSubtype(tracer.values().exact_type(self), type) == 0) {
    graph_break(BreakReason::super_lookup, "super() of an object that is no instance of the class");
  }
  return make_value<SuperValue>(type_value, self);
}

// The class and object used by super() without arguments, from the running frame.
ValuePtr implicit_super(Tracer& tracer) {
  SymbolicFrame& frame = tracer.frames().innermost();
  const Bytecode& code = *frame.bytecode;
  if (code.code()->co_argcount == 0) raise_here();
  // A cell that was passed as self is an ordinary object.
  auto contents = [&](int slot) {
    auto* cell = code.slot_kind(slot) != SlotKind::Local ? as<CellValue>(frame.slots[slot]) : nullptr;
    return cell != nullptr ? load_cell(tracer, cell) : frame.slots[slot];
  };
  for (int slot = 0; slot < code.slot_count(); ++slot) {
    bool is_class = code.slot_kind(slot) == SlotKind::Free &&
                    PyUnicode_CompareWithASCIIString(code.slot_name(slot), "__class__") == 0;
    if (!is_class) continue;
    ValuePtr type = contents(slot), self = contents(0);
    if (!type || !self || self->kind == ValueKind::Null) raise_here();
    return made_super(tracer, type, self);
  }
  raise_here();
}

ValuePtr call_super(Tracer& tracer, const CallArgs& args) {
  if (!args.keywords.empty() || args.positional.size() > 2) raise_here();
  if (args.positional.empty()) return implicit_super(tracer);
  if (args.positional.size() == 1) graph_break(BreakReason::super_lookup, "super() with one argument");
  return made_super(tracer, args.positional[0], args.positional[1]);
}

ValuePtr super_on_stack(Tracer& tracer) {
  if (tracer.values().identity_of(tracer.frames().peek(3)).get() != reinterpret_cast<PyObject*>(&PySuper_Type))
    graph_break(BreakReason::super_lookup, "a global of the name super");
  return make_value<SuperValue>(tracer.frames().peek(2), tracer.frames().peek(1));
}

void load_super_attr(Tracer& tracer, const Instruction& at) {
  ValuePtr super = super_on_stack(tracer);
  load_attribute(tracer, super, tracer.frames().bytecode().name(at.arg), 3);
}

void load_super_method(Tracer& tracer, const Instruction& at) {
  ValuePtr super = super_on_stack(tracer);
  load_method(tracer, super, tracer.frames().bytecode().name(at.arg), 3);
}

const OpcodeRegistration registration{{Opcode::LOAD_SUPER_ATTR, load_super_attr},
                                      {Opcode::LOAD_SUPER_METHOD, load_super_method}};

}  // namespace

ValuePtr super_attribute(Tracer& tracer, const SuperValue& super, BorrowedRef name, ValuePtr& start_type) {
  BorrowedRef known = tracer.values().identity_of(super.type);
  if (!known || !PyType_Check(known.get())) raise_here();
  auto* object = as<ObjectValue>(super.self);
  // In a method of a metaclass, self is a class but not a subclass of the metaclass.
  bool is_class = object != nullptr && PyType_Check(object->object.get()) &&
                  PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(object->object.get()),
                                   reinterpret_cast<PyTypeObject*>(known.get())) != 0;
  if (is_class) tracer.values().identity_of(super.self);
  start_type = is_class ? super.self : type_value(tracer, super.self);
  auto* start = as<ObjectValue>(start_type);
  tracer.values().identity_of(start_type);
  PyObject* mro = reinterpret_cast<PyTypeObject*>(start->object.get())->tp_mro;
  if (mro == nullptr) raise_here();  // the class is still under construction
  Py_ssize_t after = 0;
  while (after < PyTuple_GET_SIZE(mro) && PyTuple_GET_ITEM(mro, after) != known.get()) ++after;
  if (after++ == PyTuple_GET_SIZE(mro)) raise_here();
  if (start->traced_class) return made_attribute(tracer, *tracer.classes().find(start->object), name, after);
  if (start->source == nullptr) graph_break(BreakReason::super_lookup, "a class that is not guarded");
  if (tracer.effects().any_class_written_at(name))
    graph_break(BreakReason::super_lookup, "an attribute of a class that is written to");
  // Guards the position of the class in the MRO; the look-up is guarded from there on.
  const Source* place = tracer.sources().get(SourceKind::MroEntry, start->source, nullptr, after - 1);
  tracer.values().identity_of(value_at(tracer, place, Ref::share(known)));
  const Source* source = tracer.sources().get(SourceKind::SuperAttr, start->source, name, after);
  ValuePtr found = value_at(tracer, source);
  if (!found) tracer.guards().absent(source);
  return found;
}

namespace {

void add_super_calls() { register_call(reinterpret_cast<PyObject*>(&PySuper_Type), call_super); }

const CallRegistration call_registration(add_super_calls);

}  // namespace

}  // namespace md
