// Going over what is iterable.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

ValuePtr iterator_over(Walk& walk, const ValuePtr& value);  // null: of a type that is not known
// The walk is done again and ends before this iterator is made.
[[noreturn]] void end_before_iteration(Walk& walk, const IteratorValue& iterator);
ValuePtr any_iterator_over(Walk& walk, const ValuePtr& value);  // the same, also by __iter__ and __next__ in Python
// All elements of something iterable that the walk knows; null: not known.
std::unique_ptr<std::vector<ValuePtr>> iterate(Walk& walk, const ValuePtr& value,
                                               LengthHint hint = LengthHint::Unknown);
// The iterator of a user's object, after which its length is asked for; null: not known, and nobody was asked.
ValuePtr measured_iterator_over(Walk& walk, const ValuePtr& value);
std::optional<ValuePtr> next_of(Walk& walk, IteratorValue* iterator);  // nullopt: exhausted

}  // namespace md
