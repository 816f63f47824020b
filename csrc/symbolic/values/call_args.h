// The arguments of a call.
#pragma once
#include <utility>
#include <vector>

#include "symbolic/values/value.h"

namespace md {

struct CallArgs {
  std::vector<ValuePtr> positional;
  std::vector<std::pair<Ref, ValuePtr>> keywords;
  bool is_empty() const { return positional.empty() && keywords.empty(); }
  const ValuePtr* keyword(const char* name) const;
  // A tuple of the keywords' names, as vectorcall takes it: a new reference, empty without keywords.
  Ref keyword_names() const;
};

// Calls visit(value) for each argument and each item of those that are sequences.
template <typename Visit>
void for_each_argument(const CallArgs& args, const Visit& visit) {
  auto look_inside = [&](const ValuePtr& value) {
    visit(value);
    if (auto* sequence = as<SequenceValue>(value))
      for (const ValuePtr& item : sequence->items) visit(item);
  };
  for (const ValuePtr& value : args.positional) look_inside(value);
  for (const auto& [name, value] : args.keywords) look_inside(value);
}

}  // namespace md
