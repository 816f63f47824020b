#include "symbolic/trace/outermost_frame.h"

#include "cpython/text.h"
#include "symbolic/effects/finalizers.h"
#include "symbolic/facts/cells.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/tracer.h"

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

// The slots of the view from `first` on as the values of a frame; what they are now is what the region starts from.
void load_slots(Walk& walk, SymbolicFrame& frame, int first, int count, const CallerPlace* caller) {
  const WalkStart& start = walk.entry().start();
  const Bytecode& code = *frame.bytecode;
  int slots = code.slot_count();
  bool has_cells = caller != nullptr || start.index > 0;
  for (int slot = 0; slot < count; ++slot) {
    BorrowedRef object = start.view.get(first + slot);
    ValuePtr value = walk.frames().null();
    auto source_of_slot = [&] {
      return caller != nullptr ? caller_source(walk.sources(), *caller, first + slot, slot_text(code, slot))
                               : walk.sources().local(slot);
    };
    // Below what is called there is its self, or nothing.
    if (!object && slot >= slots) walk.guards().absent(source_of_slot());
    if (object) {
      const Source* source = source_of_slot();
      bool is_cell = slot < slots && has_cells && code.slot_kind(slot) != SlotKind::Local &&
                     Py_IS_TYPE(object.get(), &PyCell_Type);
      if (is_cell) {
        value = cell_at(walk, source, Ref::share(object));
      } else {
        value = value_at(walk, source, Ref::share(object));
        if (auto* known = as<ObjectValue>(value)) known->opaque_iterator = slot >= slots && PyIter_Check(object.get());
      }
    }
    (slot < slots ? frame.slots : frame.stack).push_back(value);
  }
  while (static_cast<int>(frame.slots.size()) < slots) frame.slots.push_back(walk.frames().null());
  walk.entry().set_frame(frame.slots, frame.stack);
}

}  // namespace

void start_root(Walk& walk) {
  const WalkStart& start = walk.entry().start();
  auto frame = std::make_unique<SymbolicFrame>();
  const CallerChain* callers = start.callers.get();
  frame->bytecode = &start.bytecode;
  frame->policy = start.policy;
  frame->index = frame->next = start.index;
  frame->function = value_at(walk, walk.sources().function(), Ref::share(start.view.function));
  int callers_slot = start.view.slot_count - (callers != nullptr ? slot_count(*callers) : 0);
  walk.entry().set_callers_slot(callers_slot);
  load_slots(walk, *frame, 0, callers_slot, nullptr);
  if (callers != nullptr) frame->continuation = callers->front().continuation;
  walk.frames().enter(std::move(frame));
}

ValuePtr enter_caller(Walk& walk) {
  for (const ValuePtr& value : walk.frames().root().slots) let_go(walk, value);
  auto changed = changed_slots(walk.entry(), walk.frames().root());  // before the caller's slots take their place
  const CallerPlace& caller = walk.entry().next_caller();
  int first = walk.entry().callers_slot();
  auto frame = std::make_unique<SymbolicFrame>();
  frame->bytecode = caller.bytecode;
  frame->policy = caller.policy;
  frame->index = caller.index;
  frame->next = caller.index + 1;
  frame->function = value_at(walk, caller_source(walk.sources(), caller, first, ""));
  MD_ASSERT(frame->function, "a waiting frame without its function");
  walk.frames().note_entered(caller.bytecode);
  auto* function = as<ObjectValue>(frame->function);
  walk.guards().code_match(function->source, caller.bytecode->code());
  function->value_guarded = function->type_guarded = true;
  ValuePtr continuation_value = value_at(walk, caller_source(walk.sources(), caller, first + 1, ".result"));
  load_slots(walk, *frame, first + 2, caller.slot_count() - 2, &caller);
  walk.entry().set_callers_slot(first + caller.slot_count());
  walk.entry().add_return({walk.frames().innermost().index, walk.frames().innermost().executed(), std::move(changed)});
  if (walk.entry().has_next_caller()) frame->continuation = walk.entry().next_caller().continuation;
  walk.frames().replace(std::move(frame));
  return continuation_value;
}

std::vector<std::pair<int, ValuePtr>> changed_slots(const EntryState& entry, const SymbolicFrame& frame) {
  std::vector<std::pair<int, ValuePtr>> changed;
  for (size_t slot = 0; slot < frame.slots.size(); ++slot) {
    const ValuePtr& value = frame.slots[slot];
    if (value == entry.slots()[slot]) continue;
    auto* object = as<ObjectValue>(value);
    bool is_constant = object != nullptr && object->source == nullptr && !object->made_class;
    changed.emplace_back(static_cast<int>(slot), is_constant ? value : ValuePtr(make_value<NullValue>()));
  }
  return changed;
}

ValuePtr clear_slot(Walk& walk, int slot) {
  ValuePtr& place = walk.frames().innermost().slots[slot];
  bool was_unset = walk.frames().depth() == 1 && walk.entry().start().index > 0 && place->kind == ValueKind::Null &&
                   place == walk.entry().slots()[slot];
  if (was_unset && walk.entry().has_returned()) walk.end_silently_before(walk.instruction_step());
  if (was_unset) walk.guards().absent(walk.sources().local(slot));
  return std::exchange(place, make_value<NullValue>());
}

bool may_have_frame_object(const Walk& walk) {
  return walk.frames().depth() == 1 && (walk.entry().start().index > 0 || walk.entry().has_returned());
}

}  // namespace md
