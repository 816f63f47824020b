#include "symbolic/state/pending_calls.h"

namespace md {

PendingCalls::PendingCalls() = default;
PendingCalls::~PendingCalls() = default;

void PendingCalls::enter(Call call) { calls_.push_back(std::move(call)); }

std::vector<ValuePtr> PendingCalls::leave() {
  std::vector<ValuePtr> stack = std::move(calls_.back().stack);
  calls_.pop_back();
  return stack;
}

void PendingCalls::add_generator(Handle<IteratorValue> generator) { generators_.push_back(std::move(generator)); }

}  // namespace md
