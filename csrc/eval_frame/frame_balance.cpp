#include "eval_frame/frame_balance.h"

#include "symbolic/trace/loop_costs.h"

namespace md {

int64_t FrameBalance::lost() const { return lost_ + instructions_ / loop_cost::driven; }

// A quarter is left for what the units do not tell.
bool FrameBalance::is_poor() const { return 4 * lost() > 5 * gained_ + loop_cost::entry; }
bool FrameBalance::is_ruinous() const { return lost() > 2 * gained_ + loop_cost::ruin; }

}  // namespace md
