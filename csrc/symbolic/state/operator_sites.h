// Instructions that a repeated trace does in another way than the first.
#pragma once
#include <compare>
#include <set>

namespace md {

class Bytecode;

// Operators whose methods are called one after another instead of being inlined, because one of them returns
// NotImplemented; calls of cached functions that are not traced beside a hit (calls/cached_results.h); and subscripts
// with masks that are graph breaks (state/masked_parts.h).
struct OperatorSite {
  const Bytecode* bytecode;
  int index;
  auto operator<=>(const OperatorSite&) const = default;
};
using OperatorSites = std::set<OperatorSite>;

}  // namespace md
