// Objects whose death is observable by the program.
#include <algorithm>
#include <unordered_map>

#include "cpython/frame.h"
#include "cpython/object_layout.h"
#include "cpython/weak_reference.h"
#include "guards/constants.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/finalizers.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

// Closing a generator that is suspended runs its handlers; one that has not started, or has no handlers, dies
// unobserved.
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

// References to an object in a container, or about to be put in one: the trace may know it from several places, and as
// a key.
constexpr Py_ssize_t kHeldInContainer = 5;
// The set, copies of it, and the trace's keys.
constexpr Py_ssize_t kHeldInSets = 8;

bool holds(const std::vector<ValuePtr>& values, const ValuePtr& value) {
  return std::ranges::find(values, value) != values.end();
}

// The references held by the frame or container, and by the trace.
bool is_last(PyObject* object, Py_ssize_t held = 2) {
  return Py_REFCNT(object) <= held && !is_guardable_constant(object);
}

// The objects that die with an object: those that it and what dies with it reference alone, or with the trace.
class Dying {
 public:
  bool is_noticed(PyObject* object) {
    pending_ = {object};
    while (!pending_.empty() && !found_ && visited_ < kMost) {
      PyObject* next = pending_.back();
      pending_.pop_back();
      ++visited_;
      found_ = death_is_noticed(next) || has_death_callback(next);
      if (!found_ && PyObject_IS_GC(next)) Py_TYPE(next)->tp_traverse(next, visit, this);
    }
    return found_;
  }

 private:
  static constexpr int kMost = 10'000;
  static int visit(PyObject* held, void* self) {
    auto* dying = static_cast<Dying*>(self);
    if (held == nullptr) return 0;
    // Called for each reference; the trace has one at most.
    Py_ssize_t others = Py_REFCNT(held) - 1;
    if (others <= 1 || ++dying->met_[held] == others) dying->pending_.push_back(held);
    return 0;
  }

  std::unordered_map<PyObject*, Py_ssize_t> met_;  // how many references of an object were visited
  std::vector<PyObject*> pending_;                 // borrowed: no code runs meanwhile
  int visited_ = 0;
  bool found_ = false;
};

bool dies_noticed(PyObject* object, Py_ssize_t held = 2) {
  return death_is_noticed(object) || (is_last(object, held) && Dying().is_noticed(object));
}

}  // namespace

// The object is dropped from a container or object; everything that only it references dies too. Under the evaluator
// everywhere any object that may die is left to the interpreter, since weak references observe it.
void leave_finalizer_to_python(Tracer& tracer, PyObject* old, Py_ssize_t held) {
  if (old == nullptr) return;
  bool dies = tracer.frames().root().policy->keeps_empty_regions && is_last(old, held);
  if (dies || dies_noticed(old, held)) graph_break(BreakReason::last_reference);
}

void leave_finalizers_to_python(Tracer& tracer, std::span<const ValuePtr> dropped, const std::vector<ValuePtr>& kept) {
  for (const ValuePtr& value : dropped) {
    auto* object = as<ObjectValue>(value);
    if (object != nullptr && !holds(kept, value))
      leave_finalizer_to_python(tracer, object->object.get(), kHeldInContainer);
  }
}

void leave_entries_to_python(Tracer& tracer, PyObject* dict) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    leave_finalizer_to_python(tracer, key, kHeldInContainer);
    leave_finalizer_to_python(tracer, value, kHeldInContainer);
  }
}

void leave_entry_to_python(Tracer& tracer, PyObject* dict, BorrowedRef key, bool keeps_key) {
  PyObject *each = nullptr, *value = nullptr;
  if (is_guardable_constant(key)) {
    if (lookup_constant(dict, key, &value) > 0) leave_finalizer_to_python(tracer, value, kHeldInContainer);
    return;
  }
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &each, &value);) {
    if (each != key.get()) continue;
    if (!keeps_key) leave_finalizer_to_python(tracer, each, kHeldInContainer);
    leave_finalizer_to_python(tracer, value, kHeldInContainer);
  }
}

void leave_element_to_python(Tracer& tracer, PyObject* set, BorrowedRef item) {
  // The death of a constant is unobservable; an item equal only to itself is the element itself.
  if (item && (is_guardable_constant(item) || PySet_Contains(set, item) != 1)) return;
  if (item) return leave_finalizer_to_python(tracer, item.get(), kHeldInSets);
  PyObject* each = nullptr;
  for (Py_ssize_t at = 0; pv_next_in_set(set, &at, &each) != 0;) leave_finalizer_to_python(tracer, each, kHeldInSets);
}

PyObject* held_from_start(Tracer& tracer, const ValuePtr& value) {
  auto* known = as<ObjectValue>(value);
  if (known == nullptr || !tracer.entry().owns(value)) return nullptr;
  tracer.values().exact_type(value);
  return known->object.get();
}

namespace {

// References to an object that the frame has held from its start: each place is one, and may be known to the trace.
Py_ssize_t references_from_start(const Tracer& tracer, PyObject* object) {
  return kHeldInContainer + 2 * (tracer.entry().places_of(object) - 1);
}

}  // namespace

bool death_is_observable(Tracer& tracer, const ValuePtr& value) {
  PyObject* object = held_from_start(tracer, value);
  return object != nullptr && dies_noticed(object, references_from_start(tracer, object));
}

void release_value(Tracer& tracer, const ValuePtr& value) {
  PyObject* object = tracer.frames().depth() > 1 ? nullptr : held_from_start(tracer, value);
  if (object == nullptr) return;
  // Under the evaluator everywhere any object that may die is left to the interpreter, since weak references observe
  // it.
  bool dies = tracer.frames().root().policy->keeps_empty_regions && is_last(object);
  if (dies || dies_noticed(object, references_from_start(tracer, object))) graph_break(BreakReason::last_reference);
}

void check_dropped(Tracer& tracer) {
  std::erase_if(tracer.entry().watched(), [&](const auto& watched) {
    const auto& [value, place] = watched;
    const std::vector<ValuePtr>& stack = tracer.frames().root().stack;
    if (place < stack.size() && stack[place] == value) return false;
    if (holds(stack, value) || holds(tracer.frames().root().slots, value)) return false;
    if (death_is_observable(tracer, value)) tracer.end_silently_before(tracer.instruction_step());
    return true;
  });
}

}  // namespace md
