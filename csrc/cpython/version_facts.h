// What a program can see of the version that it runs on, for the code above this folder.
#pragma once
#include "cpython/ref.h"

namespace md {

// Whether tuple() asks what it iterates over for its length, as list() does.
inline constexpr bool kTupleAsksForLength = PY_VERSION_HEX < 0x030E0000;
// Whether all calls of locals() in one frame give one dict.
inline constexpr bool kOneLocalsDict = PY_VERSION_HEX < 0x030D0000;
// Whether the evaluator goes through C code to resume a generator, in `for` and `yield from`.
inline constexpr bool kResumesThroughC = PY_VERSION_HEX < 0x030C0000;
// Whether ~True warns.
inline constexpr bool kInvertedBoolWarns = PY_VERSION_HEX >= 0x030C0000;

}  // namespace md
