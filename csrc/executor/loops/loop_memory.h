// Which streams of a loop lie in the same memory, and what comes of it.
#pragma once
#include "executor/loops/loop_draft.h"
#include "executor/lowering.h"
#include "executor/run_state.h"

namespace md {

// Parts of one buffer that are walked alike, as a stencil's neighbours are, keep their distance: machine code needs one
// address for all. Not for a loop of which a part may be given other memory.
void share_addresses(LoopDraft& draft, const Layout& layout);
// A result may lie over an operand of the same layout that no later instruction reads; the value `overwritten` is the first.
void find_shared_memory(const LoopDraft& draft, const Layout& layout, int overwritten, LoweredStep& lowered);

}  // namespace md
