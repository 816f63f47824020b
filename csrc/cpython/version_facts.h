// Observable differences between Python versions, for the folders above.
#pragma once
#include "cpython/ref.h"

namespace md {

// Whether tuple() calls len() on its argument, as list() does.
inline constexpr bool kTupleAsksForLength = PY_VERSION_HEX < 0x030E0000;
// Whether all calls of locals() in one frame return the same dict.
inline constexpr bool kOneLocalsDict = PY_VERSION_HEX < 0x030D0000;
// Whether the evaluator resumes a generator through C code, in `for` and `yield from`.
inline constexpr bool kResumesThroughC = PY_VERSION_HEX < 0x030C0000;
// Whether ~True warns.
inline constexpr bool kInvertedBoolWarns = PY_VERSION_HEX >= 0x030C0000;

}  // namespace md
