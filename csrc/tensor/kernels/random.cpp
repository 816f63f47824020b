#include "tensor/kernels/random.h"

#include <mutex>
#include <random>
#include <utility>

#include "tensor/simd/loops.h"

namespace md {
namespace {

std::mutex state_mutex;

RandomState& state() {
  static RandomState instance{(uint64_t{std::random_device()()} << 32) | std::random_device()(), 0};
  return instance;
}

thread_local RandomTransaction* innermost = nullptr;
thread_local RandomGenerator* drawn_from = nullptr;

}  // namespace

// The lock must be held.
void change_random(const RandomState& value) {
  state() = value;
  if (innermost != nullptr) innermost->after_ = value;
}

RandomState random_state() {
  std::lock_guard lock(state_mutex);
  return state();
}

void set_random_state(const RandomState& value) {
  std::lock_guard lock(state_mutex);
  change_random(value);
}

void manual_seed(uint64_t seed) { set_random_state({seed, 0}); }

RandomState RandomGenerator::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

void RandomGenerator::set_state(const RandomState& state) {
  std::lock_guard lock(mutex_);
  state_ = state;
}

RandomState RandomGenerator::draw(uint64_t blocks) {
  std::lock_guard lock(mutex_);
  RandomState before = state_;
  state_.position += blocks;
  return before;
}

RandomGeneratorScope::RandomGeneratorScope(RandomGenerator& generator)
    : previous_(std::exchange(drawn_from, &generator)) {}
RandomGeneratorScope::~RandomGeneratorScope() { drawn_from = previous_; }

RandomState draw_random(uint64_t blocks) {
  if (drawn_from != nullptr) return drawn_from->draw(blocks);
  std::lock_guard lock(state_mutex);
  RandomState before = state();
  change_random({before.seed, before.position + blocks});
  return before;
}

RandomTransaction::RandomTransaction()
    : before_(random_state()), after_(before_), outer_(std::exchange(innermost, this)) {}

RandomTransaction::~RandomTransaction() {
  innermost = outer_;
  if (outer_ == nullptr || after_ == before_) return;
  outer_->after_ = after_;
}

void RandomTransaction::roll_back() {
  std::lock_guard lock(state_mutex);
  if (state() == after_) change_random(before_);
}

RandomBlock random_block(uint64_t seed, uint64_t position) {
  RandomBlock block;
  loops().random_words(seed, position, 1, block.words);
  return block;
}

}  // namespace md
