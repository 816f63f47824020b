#include "symbolic/values/value_cycles.h"

#include <unordered_set>

#include "symbolic/values/value_parts.h"

namespace md {

void break_cycles(std::vector<ValuePtr> reached) {
  std::vector<ValuePtr> kept;  // so that no address is freed and reused before the end
  std::unordered_set<const Value*> seen;
  while (!reached.empty()) {
    ValuePtr value = std::move(reached.back());
    reached.pop_back();
    if (!value || !seen.insert(value.get()).second) continue;
    visit_parts(value, [&](auto& part) { reached.emplace_back(std::move(part)); });
    kept.push_back(std::move(value));
  }
}

}  // namespace md
