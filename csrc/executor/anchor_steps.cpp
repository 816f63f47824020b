#include "executor/anchor_steps.h"

namespace md {

bool is_anchor(const Node&) { return false; }
bool anchor_absorbs(const Group&, const Node&) { return false; }
LoweredStep lower_anchor(const Group&, LoweringContext&) { return {}; }

}  // namespace md
