// Bail-outs: frames that were given to the interpreter, why and how often, and their log.
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

// Whether the frame bails out even in everywhere mode, which keeps frames in the driver.
constexpr bool is_interpreters(HandOver reason) {
  return reason == HandOver::traced || reason == HandOver::no_memory || reason == HandOver::no_stack;
}

// Since the start or the last reset.
std::array<int64_t, kHandOverCount>& hand_over_counts();

// Counts a bail-out, and logs it if the log is on. index: the instruction at which the interpreter continues.
void note_hand_over(HandOver reason, const Bytecode& bytecode, int index);
// For a whole frame, whose code may not be decodable.
void note_hand_over(HandOver reason, PyCodeObject* code);

}  // namespace md
