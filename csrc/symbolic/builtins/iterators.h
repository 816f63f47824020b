// Iteration over iterables.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

ValuePtr iterator_over(Tracer& tracer, const ValuePtr& value);  // null: the type is not supported
// Repeats the trace, to end before this iterator is created.
[[noreturn]] void end_before_iteration(Tracer& tracer, const IteratorValue& iterator);
// likewise, also through __iter__ and __next__ in Python
ValuePtr any_iterator_over(Tracer& tracer, const ValuePtr& value);
// All elements of an iterable known to the trace; null if unknown.
std::unique_ptr<std::vector<ValuePtr>> iterate(Tracer& tracer, const ValuePtr& value,
                                               LengthHint hint = LengthHint::Unknown);
// The iterator of a user's object, followed by a call of its __len__; null if unknown, before any call.
ValuePtr measured_iterator_over(Tracer& tracer, const ValuePtr& value);
std::optional<ValuePtr> next_of(Tracer& tracer, IteratorValue* iterator);  // nullopt: exhausted

}  // namespace md
