// Which regions of loops the driver runs without a look-up in the code cache at each step.
#pragma once
#include <optional>

#include "eval_frame/region_entry.h"

namespace md {

// Whether the region is a whole iteration of a `for` or `while` loop that leaves only its own frame changed, in slots:
// it can run again from where it ends, if its guards hold there.
bool links_to_itself(const RegionEntry& entry);
// The instructions of a region without a plan that are all moves and operations on numbers, if they are few.
std::optional<Stretch> stretch_of_numbers(const RegionEntry& entry);

}  // namespace md
