#include "tensor/simd/special_table.h"

#include "tensor/simd/loop_headers.h"
#include "tensor/simd/loops.h"

namespace md {

const SpecialTable& special_table() {
  const LoopTable* level = &loops();
  const SpecialTable* specials = &level_baseline::specials;
#if defined(__x86_64__)
  if (level == &level_v3::table) specials = &level_v3::specials;
  if (level == &level_v4::table) specials = &level_v4::specials;
#endif
  return *specials;
}

}  // namespace md
