#include "tensor/simd/fourier_table.h"

#include "tensor/simd/loop_headers.h"
#include "tensor/simd/loops.h"

namespace md {

const FourierTable& fourier_table() {
#if defined(__x86_64__)
  const LoopTable* level = &loops();
  if (level == &level_v3::table) return level_v3::fourier;
  if (level == &level_v4::table) return level_v4::fourier;
#endif
  return level_baseline::fourier;
}

}  // namespace md
