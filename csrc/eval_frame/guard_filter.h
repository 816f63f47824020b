// guard_filter_fn: the program chooses which guards of a capture to keep. Guards on what the region itself reads when
// it runs (input tensors, objects that it writes to, functions of frames that it may create), on the path there, and on
// relations between these are always kept: without them the region would misinterpret memory.
#pragma once
#include <string>
#include <vector>

#include "eval_frame/region_entry.h"
#include "eval_frame/region_lookup.h"

namespace md {

// Call before the guards are sealed. Throws PythonError if the filter raises.
void filter_guards(const RegionPlace& place, RegionEntry& entry);

}  // namespace md
