// The random generator: counter-based (Philox 4x32-10), so that results do not depend on the number of threads.
#pragma once
#include <cstdint>
#include <mutex>

namespace md {

struct RandomState {
  uint64_t seed = 0;
  uint64_t position = 0;  // number of blocks of four numbers drawn so far
  bool operator==(const RandomState&) const = default;
};

// Process-wide; thread-safe.
RandomState random_state();
void set_random_state(const RandomState& state);
void manual_seed(uint64_t seed);
// Reserves `blocks` blocks for the caller and returns the previous state.
RandomState draw_random(uint64_t blocks);

// A stream of random numbers independent of the process-wide one.
class RandomGenerator {
 public:
  RandomState state() const;
  void set_state(const RandomState& state);
  RandomState draw(uint64_t blocks);  // as draw_random

 private:
  mutable std::mutex mutex_;
  RandomState state_{0x3c5a17e2f40b9d61, 0};
};

// During its lifetime, draw_random() on this thread uses the generator.
class RandomGeneratorScope {
 public:
  explicit RandomGeneratorScope(RandomGenerator& generator);
  ~RandomGeneratorScope();
  RandomGeneratorScope(const RandomGeneratorScope&) = delete;
  RandomGeneratorScope& operator=(const RandomGeneratorScope&) = delete;

 private:
  RandomGenerator* previous_;
};

// During its lifetime, draws and seeding on this thread can be rolled back. May be nested.
class RandomTransaction {
 public:
  RandomTransaction();
  ~RandomTransaction();
  RandomTransaction(const RandomTransaction&) = delete;
  RandomTransaction& operator=(const RandomTransaction&) = delete;
  // Does nothing if another thread has drawn since: its numbers would be repeated.
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
