#include "tensor/random.h"

#include <mutex>
#include <random>
#include <utility>

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

// With the lock held.
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
  uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  RandomBlock block{{static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), 0, 0}};
  uint32_t* c = block.words;
  for (int round = 0; round < 10; ++round) {
    uint64_t left = uint64_t{0xD2511F53} * c[0];
    uint64_t right = uint64_t{0xCD9E8D57} * c[2];
    uint32_t next[4] = {static_cast<uint32_t>(right >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(right),
                        static_cast<uint32_t>(left >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(left)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return block;
}

}  // namespace md
