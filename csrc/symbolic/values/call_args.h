// The arguments of a call.
#pragma once
#include <utility>
#include <vector>

#include "symbolic/values/value.h"

namespace md {

struct CallArgs {
  std::vector<ValuePtr> positional;
  std::vector<std::pair<Ref, ValuePtr>> keywords;
  const ValuePtr* keyword(const char* name) const;
  // A tuple of the keywords' names, as vectorcall takes it: a new reference, empty without keywords.
  Ref keyword_names() const;
};

}  // namespace md
