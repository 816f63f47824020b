#include "symbolic/trace/outermost_frame.h"

#include <unordered_set>

#include "cpython/text.h"
#include "guards/constants.h"
#include "guards/guard_set.h"
#include "symbolic/effects/finalizers.h"
#include "symbolic/facts/cells.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/tracer.h"
#include "symbolic/values/value_parts.h"

namespace md {

namespace {

// ['x'] for a local, [0] for a value on the stack.
std::string slot_text(const Bytecode& code, int slot) {
  if (slot >= code.slot_count()) return str_cat("[", slot - code.slot_count(), "]");
  return str_cat("['", text_of(code.slot_name(slot)), "']");
}

const Source* caller_source(SourcePool& sources, const CallerPlace& caller, int slot, const std::string& text) {
  std::string name = str_cat("C['", text_of(caller.bytecode->code()->co_name), "']", text);
  Ref key = check(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  return sources.get(SourceKind::CallerSlot, nullptr, key, slot);
}

// Loads the slots of the view from `first` on into a frame; their current values are the entry state of the region.
void load_slots(Tracer& tracer, SymbolicFrame& frame, int first, int count, const CallerPlace* caller) {
  const TraceStart& start = tracer.entry().start();
  const Bytecode& code = *frame.bytecode;
  int slots = code.slot_count();
  bool has_cells = caller != nullptr || start.index > 0;
  for (int slot = 0; slot < count; ++slot) {
    BorrowedRef object = start.view.get(first + slot);
    ValuePtr value = tracer.frames().null();
    auto source_of_slot = [&] {
      return caller != nullptr ? caller_source(tracer.sources(), *caller, first + slot, slot_text(code, slot))
                               : tracer.sources().local(slot);
    };
    // The stack slot below a callable holds its self, or NULL.
    if (!object && slot >= slots) tracer.guards().absent(source_of_slot());
    if (object) {
      const Source* source = source_of_slot();
      bool is_cell = slot < slots && has_cells && code.slot_kind(slot) != SlotKind::Local &&
                     Py_IS_TYPE(object.get(), &PyCell_Type);
      if (is_cell) {
        value = cell_at(tracer, source, Ref::share(object));
      } else {
        value = value_at(tracer, source, Ref::share(object));
        if (auto* known = as<ObjectValue>(value)) known->opaque_iterator = slot >= slots && PyIter_Check(object.get());
      }
    }
    (slot < slots ? frame.slots : frame.stack).push_back(value);
  }
  while (static_cast<int>(frame.slots.size()) < slots) frame.slots.push_back(tracer.frames().null());
  tracer.entry().set_frame(frame.slots, frame.stack);
}

}  // namespace

void start_root(Tracer& tracer) {
  const TraceStart& start = tracer.entry().start();
  auto frame = std::make_unique<SymbolicFrame>();
  const CallerChain* callers = start.callers.get();
  frame->bytecode = &start.bytecode;
  frame->policy = start.policy;
  frame->index = frame->next = start.index;
  frame->function = value_at(tracer, tracer.sources().function(), Ref::share(start.view.function));
  int callers_slot = start.view.slot_count - (callers != nullptr ? slot_count(*callers) : 0);
  tracer.entry().set_callers_slot(callers_slot);
  load_slots(tracer, *frame, 0, callers_slot, nullptr);
  if (callers != nullptr) frame->continuation = callers->front().continuation;
  tracer.frames().enter(std::move(frame));
}

ValuePtr enter_caller(Tracer& tracer) {
  for (const ValuePtr& value : tracer.frames().root().slots) release_value(tracer, value);
  auto changed = changed_slots(tracer);  // before the caller's slots replace them
  const CallerPlace& caller = tracer.entry().next_caller();
  int first = tracer.entry().callers_slot();
  auto frame = std::make_unique<SymbolicFrame>();
  frame->bytecode = caller.bytecode;
  frame->policy = caller.policy;
  frame->index = caller.index;
  frame->next = caller.index + 1;
  frame->function = value_at(tracer, caller_source(tracer.sources(), caller, first, ""));
  MD_ASSERT(frame->function, "a suspended caller without its function");
  tracer.frames().note_entered(caller.bytecode);
  auto* function = as<ObjectValue>(frame->function);
  tracer.guards().code_match(function->source, caller.bytecode->code());
  function->value_guarded = function->type_guarded = true;
  ValuePtr continuation_value = value_at(tracer, caller_source(tracer.sources(), caller, first + 1, ".result"));
  load_slots(tracer, *frame, first + 2, caller.slot_count() - 2, &caller);
  tracer.entry().set_callers_slot(first + caller.slot_count());
  tracer.entry().add_return(
      {tracer.frames().innermost().index, tracer.frames().innermost().executed(), std::move(changed)});
  if (tracer.entry().has_next_caller()) frame->continuation = tracer.entry().next_caller().continuation;
  tracer.frames().replace(std::move(frame));
  return continuation_value;
}

namespace {

// Of values created by the region.
bool holds_observed(Tracer& tracer, const ValuePtr& created) {
  std::unordered_set<const Value*> seen;
  std::vector<ValuePtr> reached{created};
  while (!reached.empty()) {
    ValuePtr value = std::move(reached.back());
    reached.pop_back();
    if (!value || !seen.insert(value.get()).second) continue;
    if (tracer.entry().owns(value)) {
      if (death_is_observable(tracer, value)) return true;
    } else {
      visit_parts(value, [&](const auto& part) { reached.emplace_back(part); });
    }
  }
  return false;
}

bool is_kept_at_return(Tracer& tracer, const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  if (object != nullptr && is_guardable_constant(object->object)) return false;
  return tracer.entry().owns(value) || holds_observed(tracer, value);
}

}  // namespace

EntryState::ChangedSlots changed_slots(Tracer& tracer) {
  EntryState::ChangedSlots changed;
  const std::vector<ValuePtr>& slots = tracer.frames().root().slots;
  bool owns = tracer.entry().owns_objects();
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    const ValuePtr& value = slots[slot];
    if (value == tracer.entry().slots()[slot]) continue;
    auto* object = as<ObjectValue>(value);
    bool is_constant = object != nullptr && object->source == nullptr && !object->traced_class;
    bool is_kept = owns && is_kept_at_return(tracer, value);
    changed.owns_moved = changed.owns_moved || is_kept;
    changed.values.emplace_back(static_cast<int>(slot),
                                is_constant || is_kept ? value : ValuePtr(make_value<NullValue>()));
  }
  return changed;
}

ValuePtr clear_slot(Tracer& tracer, int slot) {
  ValuePtr& place = tracer.frames().innermost().slots[slot];
  bool was_unset = tracer.frames().depth() == 1 && tracer.entry().start().index > 0 && place->kind == ValueKind::Null &&
                   place == tracer.entry().slots()[slot];
  if (was_unset && tracer.entry().has_returned()) tracer.end_silently_before(tracer.instruction_step());
  if (was_unset) tracer.guards().absent(tracer.sources().local(slot));
  return std::exchange(place, make_value<NullValue>());
}

bool may_have_frame_object(const Tracer& tracer) {
  return tracer.frames().depth() == 1 && (tracer.entry().start().index > 0 || tracer.entry().has_returned());
}

}  // namespace md
