// The random generator: a counter-based one (Philox 4x32-10), so that results do not depend on the number of threads.
#pragma once
#include <cstdint>

namespace md {

struct RandomState {
  uint64_t seed = 0;
  uint64_t position = 0;  // blocks of four numbers drawn so far
};

// Process-wide; thread-safe.
RandomState random_state();
void set_random_state(const RandomState& state);
void manual_seed(uint64_t seed);
// Reserves `blocks` blocks for the caller and returns the state before.
RandomState draw_random(uint64_t blocks);

struct RandomBlock {
  uint32_t words[4];
};
RandomBlock random_block(uint64_t seed, uint64_t position);

}  // namespace md
