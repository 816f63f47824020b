// guard_filter_fn: the program says which guards of a capture are to be kept.
// A guard on what the region itself reads when it runs (its input tensors, what it writes to, the functions of frames that it may
// have to make) and on the way there, and a relation between such, is kept whatever the program says: without it memory would be read for what it is not.
#pragma once
#include <string>
#include <vector>

#include "eval_frame/region_entry.h"
#include "eval_frame/region_lookup.h"

namespace md {

// Before the guards are sealed. Throws PythonError for what the filter raises.
void filter_guards(const RegionPlace& place, RegionEntry& entry);

}  // namespace md
