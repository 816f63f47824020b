// Which streams of a loop share memory, and the consequences.
#pragma once
#include <functional>
#include <optional>

#include "executor/loops/loop_draft.h"
#include "executor/lowering.h"
#include "executor/run_state.h"

namespace md {

// Parts of one buffer with equal strides, such as the neighbours in a stencil, have constant distances: machine code
// needs one address for all. Not for a loop of which a part may be relocated. stay: whether the distance between two
// values is the same for all sizes that the loop will have.
void share_addresses(LoopDraft& draft, const Layout& layout, const std::function<bool(int, int)>& stay);
// Bytes from the first stream's elements to the second one's, if it is the same everywhere.
std::optional<int64_t> distance(const LoopProgram& program, const Layout& layout, const Stream& from, const Stream& to);
// Whether a result lies in the memory of an operand, or of another result, other than element by element: each element
// is then written before it is read for the last time. Of loops that lie in no row loop of machine code.
bool overwrites_what_it_reads(const LoopDraft& draft, const Layout& layout);
// A result may overwrite an operand of the same layout that no later instruction reads; the
// value `overwritten` is preferred.
void find_shared_memory(const LoopDraft& draft, const Layout& layout, int overwritten, LoweredStep& lowered);

}  // namespace md
