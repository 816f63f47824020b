#include "tensor/simd/lane_table.h"

#include "tensor/simd/loop_headers.h"
#include "tensor/simd/loops.h"

namespace md {

const LaneTable& lane_table() {
#if defined(__x86_64__)
  const LoopTable* level = &loops();
  if (level == &level_v3::table) return level_v3::lanes;
  if (level == &level_v4::table) return level_v4::lanes;
#endif
  return level_baseline::lanes;
}

}  // namespace md
