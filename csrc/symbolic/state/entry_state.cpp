#include "symbolic/state/entry_state.h"

namespace md {

void EntryState::set_frame(std::vector<ValuePtr> slots, std::vector<ValuePtr> stack) {
  slots_ = std::move(slots);
  stack_ = std::move(stack);
  watched_.clear();
  for (size_t at = 0; at < stack_.size(); ++at)
    if (as<ObjectValue>(stack_[at]) != nullptr) watched_.emplace_back(stack_[at], at);
}

}  // namespace md
