// guard_filter_fn: the program says which guards of a capture are to be kept.
// A guard on what the region itself reads when it runs (its input tensors, what it writes to, the functions of frames that it may
// have to make) and on the way there, and a relation between such, is kept whatever the program says: without it memory would be read for what it is not.
#pragma once
#include <string>
#include <vector>

#include "eval_frame/region_entry.h"
#include "eval_frame/region_lookup.h"

namespace md {

struct FilteredGuard {
  const char* kind;
  std::string name;         // L['x'].weight; "": of the process
  Ref value;                // what is there now; null: nothing
  std::vector<Ref> owners;  // what is on the way, outermost first
  bool is_global;           // reached from a global
};

// Whether there is a filter for the policy, and a call of it, with one answer for each guard. Installed by bindings.
using HasGuardFilter = bool (*)(const Policy* policy);
using GuardFilterRunner = std::vector<bool> (*)(const Policy* policy, const std::vector<FilteredGuard>& guards);
void set_guard_filters(HasGuardFilter has, GuardFilterRunner run);

// Before the guards are sealed. Throws PythonError for what the filter raises.
void filter_guards(const RegionPlace& place, RegionEntry& entry);

}  // namespace md
