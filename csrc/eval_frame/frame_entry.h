// New frames that come to the driver.
#pragma once
#include "eval_frame/compiled_call.h"
#include "eval_frame/hook.h"

namespace md {

// Those that are reached through C, or called at a break, while a policy is in force.
FrameHandler& ambient_frames();

// Everywhere mode, for tests: from now on every new frame of the process goes to the driver, whatever is captured of it, under a
// policy made of these options. Enabling counts: each needs its disabling. GIL held.
void enable_everywhere(const CompileOptions& options);
void disable_everywhere();
bool everywhere_enabled();

}  // namespace md
