#include "symbolic/builtins/sequence_search.h"

#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/facts/value_facts.h"

namespace md {

ValuePtr search_items(Tracer& tracer, const CallArgs& args, const std::vector<ValuePtr>& items, bool counts) {
  int64_t count = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    int64_t step = tracer.step_number();
    std::optional<bool> equal = known_equal(tracer, items[i], args.positional[1]);
    break_if_changed(tracer, step, args.positional[0], items);
    if (!equal) graph_break(BreakReason::unknown_comparison, describe(items[i]));
    if (*equal && !counts) return tracer.values().integer(static_cast<int64_t>(i));
    if (*equal) ++count;
  }
  if (!counts) raise_here();
  return tracer.values().integer(count);
}

}  // namespace md
