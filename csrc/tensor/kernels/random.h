// The random generator: a counter-based one (Philox 4x32-10), so that results do not depend on the number of threads.
#pragma once
#include <cstdint>
#include <mutex>

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

// A stream of numbers apart from the process's own.
class RandomGenerator {
 public:
  RandomState state() const;
  void set_state(const RandomState& state);
  RandomState draw(uint64_t blocks);  // as draw_random

 private:
  mutable std::mutex mutex_;
  RandomState state_{0x3c5a17e2f40b9d61, 0};
};

// While one lives, draw_random draws from the generator on this thread.
class RandomGeneratorScope {
 public:
  explicit RandomGeneratorScope(RandomGenerator& generator);
  ~RandomGeneratorScope();
  RandomGeneratorScope(const RandomGeneratorScope&) = delete;
  RandomGeneratorScope& operator=(const RandomGeneratorScope&) = delete;

 private:
  RandomGenerator* previous_;
};

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
