#include "symbolic/builtins/sequence_search.h"

#include <algorithm>

#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/facts/value_facts.h"

namespace md {

namespace {

// An end of the range in which index() looks; as in a slice, a negative one counts from the end of the sequence.
int64_t end_of_range(Tracer& tracer, const CallArgs& args, size_t argument, int64_t length, int64_t missing) {
  if (args.positional.size() <= argument) return missing;
  std::optional<int64_t> at = int_of(tracer, args.positional[argument]);
  if (!at) graph_break(BreakReason::unknown_subscript, "index() in an unknown range");
  return std::clamp<int64_t>(*at < 0 ? *at + length : *at, 0, length);
}

}  // namespace

ValuePtr search_items(Tracer& tracer, const CallArgs& args, const std::vector<ValuePtr>& items, bool counts) {
  auto length = static_cast<int64_t>(items.size());
  int64_t first = end_of_range(tracer, args, 2, length, 0), last = end_of_range(tracer, args, 3, length, length);
  int64_t count = 0;
  for (int64_t at = first; at < last; ++at) {
    auto i = static_cast<size_t>(at);
    int64_t step = tracer.step_number();
    std::optional<bool> equal = known_equal(tracer, items[i], args.positional[1]);
    break_if_changed(tracer, step, args.positional[0], items);
    if (!equal) graph_break(BreakReason::unknown_comparison, describe(items[i]));
    if (*equal && !counts) return tracer.values().integer(at);
    if (*equal) ++count;
  }
  if (!counts) raise_here();
  return tracer.values().integer(count);
}

}  // namespace md
