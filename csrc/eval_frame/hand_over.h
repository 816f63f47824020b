// Frames that were given to the interpreter: why, how often, and the log of them.
#pragma once
#include <array>
#include <cstdint>

#include "bytecode/bytecode.h"

namespace md {

enum class HandOver : uint8_t {
#define MD_HAND_OVER(name, doc) name,
#include "eval_frame/hand_overs.def"
#undef MD_HAND_OVER
};

struct HandOverRow {
  const char* name;
  const char* doc;
};
inline constexpr HandOverRow kHandOverRows[] = {
#define MD_HAND_OVER(name, doc) {#name, doc},
#include "eval_frame/hand_overs.def"
#undef MD_HAND_OVER
};
inline constexpr size_t kHandOverCount = sizeof(kHandOverRows) / sizeof(kHandOverRows[0]);

// Whether the frame leaves even where every frame is to stay under the driver.
constexpr bool is_interpreters(HandOver reason) {
  return reason == HandOver::traced || reason == HandOver::no_memory || reason == HandOver::no_stack;
}

// Since the start or the last reset.
std::array<int64_t, kHandOverCount>& hand_over_counts();

// Counts it, and logs it where the log asks for it. index: the instruction at which the interpreter goes on.
void note_hand_over(HandOver reason, const Bytecode& bytecode, int index);
// Of a whole frame, whose code may not be known to be readable.
void note_hand_over(HandOver reason, PyCodeObject* code);

}  // namespace md
