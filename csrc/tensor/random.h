// The random generator: a counter-based one (Philox 4x32-10), so that results do not depend on the number of threads.
#pragma once
#include <cstdint>

namespace md {

struct RandomState {
  uint64_t seed = 0;
  uint64_t position = 0;  // blocks of four numbers drawn so far
  bool operator==(const RandomState&) const = default;
};

// Process-wide; thread-safe.
RandomState random_state();
void set_random_state(const RandomState& state);
void manual_seed(uint64_t seed);
// Reserves `blocks` blocks for the caller and returns the state before.
RandomState draw_random(uint64_t blocks);

// What this thread draws and seeds while one lives can be taken back. They nest.
class RandomTransaction {
 public:
  RandomTransaction();
  ~RandomTransaction();
  RandomTransaction(const RandomTransaction&) = delete;
  RandomTransaction& operator=(const RandomTransaction&) = delete;
  // Unless another thread has drawn since: its numbers would come twice.
  void roll_back();

 private:
  friend void change_random(const RandomState& state);
  RandomState before_, after_;
  RandomTransaction* outer_;
};

struct RandomBlock {
  uint32_t words[4];
};
RandomBlock random_block(uint64_t seed, uint64_t position);

}  // namespace md
