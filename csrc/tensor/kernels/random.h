// The random generators: the process-wide one, which operations draw from, and others that take its place. What they
// hand out does not depend on the number of threads: a draw has the generator for itself.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "tensor/kernels/mersenne_twister.h"

namespace md {

struct RandomState {
  explicit RandomState(uint64_t seed) : twister(seed) {}
  bool operator==(const RandomState&) const = default;

  MersenneTwister twister;
  std::optional<double> normal;  // the second of a pair of normal numbers, for the next call that needs one
};

// Process-wide; thread-safe.
RandomState random_state();
void set_random_state(const RandomState& state);
void manual_seed(uint64_t seed);
uint64_t initial_seed();
// Equal ones: nothing has been drawn in between, or it has been rolled back.
uint64_t random_version();

// A stream of random numbers independent of the process-wide one.
class RandomGenerator {
 public:
  RandomState state() const;
  void set_state(const RandomState& state);
  uint64_t initial_seed() const;

 private:
  friend class RandomDraws;
  mutable std::mutex mutex_;
  RandomState state_{67280421310721};  // torch's default seed
};

// During its lifetime, draws on this thread are from the generator.
class RandomGeneratorScope {
 public:
  explicit RandomGeneratorScope(RandomGenerator& generator);
  ~RandomGeneratorScope();
  RandomGeneratorScope(const RandomGeneratorScope&) = delete;
  RandomGeneratorScope& operator=(const RandomGeneratorScope&) = delete;

 private:
  RandomGenerator* previous_;
};

// Draws by an operation, which has this thread's generator for itself.
class RandomDraws {
 public:
  RandomDraws();
  uint32_t word() { return state_->twister.draw(); }
  uint64_t long_word();  // two words, the first one above
  void words(uint32_t* out, int64_t n) { state_->twister.draw(out, n); }
  double uniform();  // in [0, 1)
  double normal();

 private:
  std::unique_lock<std::mutex> lock_;
  RandomState* state_;
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
  friend void note_change();
  std::unique_ptr<RandomState> before_;  // once something has changed; apart, as most transactions draw nothing
  uint64_t version_before_ = 0, version_after_ = 0;
  RandomTransaction* outer_;
};

}  // namespace md
