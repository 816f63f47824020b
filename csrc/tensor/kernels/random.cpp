#include "tensor/kernels/random.h"

#include <cmath>
#include <numbers>
#include <random>
#include <utility>

namespace md {
namespace {

std::mutex state_mutex;
uint64_t version = 0, last_version = 0;  // guarded by it

RandomState& state() {
  static RandomState instance((uint64_t{std::random_device()()} << 32) | std::random_device()());
  return instance;
}

thread_local RandomTransaction* innermost = nullptr;
thread_local RandomGenerator* drawn_from = nullptr;

}  // namespace

// Before the process-wide state changes. The lock must be held.
void note_change() {
  if (innermost != nullptr && !innermost->before_) {
    innermost->before_ = std::make_unique<RandomState>(state());
    innermost->version_before_ = version;
  }
  version = ++last_version;
  if (innermost != nullptr) innermost->version_after_ = version;
}

RandomState random_state() {
  std::lock_guard lock(state_mutex);
  return state();
}

void set_random_state(const RandomState& value) {
  std::lock_guard lock(state_mutex);
  note_change();
  state() = value;
}

void manual_seed(uint64_t seed) { set_random_state(RandomState(seed)); }

uint64_t initial_seed() {
  std::lock_guard lock(state_mutex);
  return state().twister.seed;
}

uint64_t random_version() {
  std::lock_guard lock(state_mutex);
  return version;
}

RandomState RandomGenerator::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

void RandomGenerator::set_state(const RandomState& state) {
  std::lock_guard lock(mutex_);
  state_ = state;
}

uint64_t RandomGenerator::initial_seed() const {
  std::lock_guard lock(mutex_);
  return state_.twister.seed;
}

RandomGeneratorScope::RandomGeneratorScope(RandomGenerator& generator)
    : previous_(std::exchange(drawn_from, &generator)) {}
RandomGeneratorScope::~RandomGeneratorScope() { drawn_from = previous_; }

RandomDraws::RandomDraws()
    : lock_(drawn_from != nullptr ? drawn_from->mutex_ : state_mutex),
      state_(drawn_from != nullptr ? &drawn_from->state_ : &state()) {
  if (drawn_from == nullptr) note_change();
}

uint64_t RandomDraws::long_word() {
  uint32_t pair[2];
  words(pair, 2);
  return md::long_word(pair);
}

double RandomDraws::uniform() { return static_cast<double>(bits_of_uniform(long_word())) * 0x1p-53; }

// Two independent normal numbers from two uniform ones (Box and Muller 1958), of which the second is kept.
double RandomDraws::normal() {
  if (state_->normal) return *std::exchange(state_->normal, std::nullopt);
  double angle = 2 * std::numbers::pi * uniform();
  double radius = std::sqrt(-2 * std::log1p(-uniform()));
  state_->normal = radius * std::sin(angle);
  return radius * std::cos(angle);
}

RandomTransaction::RandomTransaction() : outer_(std::exchange(innermost, this)) {}

RandomTransaction::~RandomTransaction() {
  innermost = outer_;
  if (outer_ == nullptr || !before_) return;
  if (!outer_->before_) {
    outer_->before_ = std::move(before_);
    outer_->version_before_ = version_before_;
  }
  outer_->version_after_ = version_after_;
}

void RandomTransaction::roll_back() {
  std::lock_guard lock(state_mutex);
  if (!before_ || version != version_after_) return;
  state() = *before_;
  version = version_before_;
  before_.reset();
}

}  // namespace md
