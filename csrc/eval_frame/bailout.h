// Bail-outs: frames that were given to the interpreter, why and how often, and their log.
#pragma once
#include <array>
#include <cstdint>

#include "bytecode/bytecode.h"

namespace md {

enum class Bailout : uint8_t {
#define MD_BAILOUT(name, doc) name,
#include "eval_frame/bailouts.def"
#undef MD_BAILOUT
};

struct BailoutRow {
  const char* name;
  const char* doc;
};
inline constexpr BailoutRow kBailoutRows[] = {
#define MD_BAILOUT(name, doc) {#name, doc},
#include "eval_frame/bailouts.def"
#undef MD_BAILOUT
};
inline constexpr size_t kBailoutCount = sizeof(kBailoutRows) / sizeof(kBailoutRows[0]);

// Whether the frame bails out even in everywhere mode, which keeps frames in the driver.
constexpr bool is_interpreters(Bailout reason) {
  return reason == Bailout::traced || reason == Bailout::no_memory || reason == Bailout::no_stack;
}

// Since the start or the last reset.
std::array<int64_t, kBailoutCount>& bailout_counts();

// Counts a bail-out, and logs it if the log is on. index: the instruction at which the interpreter continues.
void note_bailout(Bailout reason, const Bytecode& bytecode, int index);
// For a whole frame, whose code may not be decodable.
void note_bailout(Bailout reason, PyCodeObject* code);

}  // namespace md
