#include "symbolic/state/entry_state.h"

#include <algorithm>

namespace md {

EntryState::EntryState(const TraceStart& start) : start_(start) {}
EntryState::~EntryState() = default;

void EntryState::set_frame(std::vector<ValuePtr> slots, std::vector<ValuePtr> stack) {
  slots_ = std::move(slots);
  stack_ = std::move(stack);
  watched_.clear();
  for (size_t at = 0; at < stack_.size(); ++at)
    if (as<ObjectValue>(stack_[at]) != nullptr) watched_.emplace_back(stack_[at], at);
}

bool EntryState::owns(const ValuePtr& value) const {
  if (value->kind == ValueKind::Null || !owns_objects()) return false;
  return std::ranges::find(slots_, value) != slots_.end() || std::ranges::find(stack_, value) != stack_.end();
}

Py_ssize_t EntryState::places_of(BorrowedRef object) const {
  auto holds = [&](const ValuePtr& value) {
    auto* known = as<ObjectValue>(value);
    return known != nullptr && known->object.get() == object.get();
  };
  return std::ranges::count_if(slots_, holds) + std::ranges::count_if(stack_, holds);
}

void EntryState::add_return(ReturnedFrame frame) { returns_.push_back(std::move(frame)); }

}  // namespace md
