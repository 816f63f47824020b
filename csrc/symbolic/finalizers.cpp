// Objects whose death the program notices.
#include <algorithm>

#include "cpython/frame.h"
#include "symbolic/walk.h"

namespace md {

namespace {

// A generator closes where it is suspended; one that has not begun, or has no handlers, does so unnoticed.
bool closes_quietly(PyObject* object) {
  if (!PyGen_Check(object) && !PyCoro_CheckExact(object) && !PyAsyncGen_CheckExact(object)) return false;
  PvFrame* frame = pv_generator_frame(object);
  return frame == nullptr || pv_generator_started(object) == 0 || !has_handlers(*Bytecode::of(pv_code(frame)));
}

bool death_is_noticed(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_finalize == nullptr && type->tp_del == nullptr) return false;
  return !closes_quietly(object);
}

bool holds(const std::vector<ValuePtr>& values, const ValuePtr& value) {
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

// A frame at its start shares what it holds with its caller.
void Walk::let_go(const ValuePtr& value) {
  auto* known = as<ObjectValue>(value);
  if (known == nullptr || frames_.size() > 1 || (start_.index == 0 && returns_.empty())) return;
  if (!holds(initial_slots_, value) && !holds(initial_stack_, value)) return;
  exact_type(value);
  if (death_is_noticed(known->object.get())) graph_break(BreakReason::last_reference);
  // Under the evaluator everywhere whatever may die here does: what it holds, weak references to it. The frame's reference and the
  // walk's are its last.
  bool is_last = Py_REFCNT(known->object.get()) <= 2 && !is_guardable_constant(known->object);
  if (root().policy->keeps_empty_regions && is_last) graph_break(BreakReason::last_reference);
}

}  // namespace md
