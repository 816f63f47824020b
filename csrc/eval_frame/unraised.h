// The exception that a capture has foreseen, and Python has not raised.
#pragma once
#include "eval_frame/region_entry.h"

namespace md {

// The instruction at which the region ends has been executed: reports a break, and if breaks are errors throws
// CaptureError, in each run. Otherwise the region ends in that break from now on. The frame of `innermost` is linked.
void report_unraised(RegionEntry& left, const Bytecode& innermost);

}  // namespace md
