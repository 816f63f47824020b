// Handlers that give new frames to the driver.
#pragma once
#include "eval_frame/compiled_call.h"
#include "eval_frame/hook.h"

namespace md {

// For frames reached through C, or called at a break, while a policy is in force.
FrameHandler& ambient_frames();

// Everywhere mode, for tests: every new frame of the process goes to the driver, even if nothing can be captured, under
// a policy made from these options. Calls nest: each needs a matching disable. Requires the GIL.
void enable_everywhere(const CompileOptions& options);
void disable_everywhere();
bool everywhere_enabled();

}  // namespace md
