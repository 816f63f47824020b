// The symbolic sizes and numbers of a region, and guards on their relations.
#pragma once
#include <span>
#include <vector>

#include "guards/size_place.h"
#include "tensor/dim_code.h"

namespace md {

class GuardSet;

struct GuardedSizes {
  SymbolList symbols;
  std::vector<SizePlace> places;  // that they are read from, in the order of the symbols
  const SizePlace& place_of(Dim symbol) const;
  std::vector<SizePlace> places_of(const SymbolList& list) const;
  // Adds a guard for each relation. One between too many symbols makes each of them the number that it is.
  void guard(GuardSet& guards, std::span<const SizeRelation> relations) const;
};

}  // namespace md
