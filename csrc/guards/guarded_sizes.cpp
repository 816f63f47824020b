#include "guards/guarded_sizes.h"

#include <set>
#include <string>

#include "base/error.h"
#include "guards/guard.h"
#include "guards/guard_set.h"

namespace md {

const SizePlace& GuardedSizes::place_of(Dim symbol) const {
  int at = symbols.find(symbol);
  MD_ASSERT(at >= 0, "a symbol of another trace: ", symbol.str());
  return places[static_cast<size_t>(at)];
}

std::vector<SizePlace> GuardedSizes::places_of(const SymbolList& list) const {
  std::vector<SizePlace> found;
  for (Dim symbol : list.symbols()) found.push_back(place_of(symbol));
  return found;
}

void GuardedSizes::guard(GuardSet& guards, std::span<const SizeRelation> relations) const {
  auto add = [&](Dim a, DimRelation relation, Dim b) {
    SymbolList list;
    list.add(a);
    list.add(b);
    if (list.symbols().size() > kMostSizes) return false;
    guards.shape(relation, a, b, list, places_of(list));
    return true;
  };
  std::set<std::string> fixed;
  for (const SizeRelation& each : relations) {
    if (add(each.a, each.relation, each.b)) continue;
    // Too many for one guard: specialise each to its value.
    SymbolList list;
    list.add(each.a);
    list.add(each.b);
    for (Dim symbol : list.symbols())
      if (fixed.insert(symbol.str()).second) add(symbol, DimRelation::Equal, symbol.hint());
  }
}

}  // namespace md
