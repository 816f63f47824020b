// Going over what is iterable.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

ValuePtr iterator_over(Tracer& tracer, const ValuePtr& value);  // null: of a type that is not known
// The trace is done again and ends before this iterator is made.
[[noreturn]] void end_before_iteration(Tracer& tracer, const IteratorValue& iterator);
ValuePtr any_iterator_over(Tracer& tracer, const ValuePtr& value);  // the same, also by __iter__ and __next__ in Python
// All elements of something iterable that the trace knows; null: not known.
std::unique_ptr<std::vector<ValuePtr>> iterate(Tracer& tracer, const ValuePtr& value,
                                               LengthHint hint = LengthHint::Unknown);
// The iterator of a user's object, after which its length is asked for; null: not known, and nobody was asked.
ValuePtr measured_iterator_over(Tracer& tracer, const ValuePtr& value);
std::optional<ValuePtr> next_of(Tracer& tracer, IteratorValue* iterator);  // nullopt: exhausted

}  // namespace md
