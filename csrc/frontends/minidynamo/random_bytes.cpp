#include "frontends/minidynamo/random_bytes.h"

#include <algorithm>
#include <cstring>

#include "frontends/minidynamo/tensor_object.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

constexpr uint32_t kWords = MersenneTwister::kWords;

struct RandomBytes {
  uint64_t seed = 0;
  int32_t left = 1;  // words until the next twist, which comes before the last of them
  int32_t seeded = 1;
  uint64_t next = 0;
  uint64_t words[kWords] = {};
  double unused_x = 0, normal = 0, unused_rho = 0;
  int64_t has_normal = 0;  // in its lower half
  float unused_normal = 0;
  uint32_t has_unused_normal = 0;
};
static_assert(sizeof(RandomBytes) == 5056);

RandomBytes bytes_of(const RandomState& state) {
  RandomBytes bytes;
  const MersenneTwister& twister = state.twister;
  bytes.seed = twister.seed;
  bytes.next = twister.next;
  if (twister.next != 0) bytes.left = static_cast<int32_t>(kWords + 1 - twister.next);
  std::ranges::copy(twister.words, bytes.words);
  bytes.has_normal = state.normal.has_value();
  bytes.normal = state.normal.value_or(0);
  return bytes;
}

// What the next draw does depends on `left` alone after a seed, else on both numbers.
bool is_valid(const RandomBytes& bytes) {
  bool is_fresh = bytes.next == 0 && bytes.left == 1;
  bool is_drawn =
      bytes.next >= 1 && bytes.next <= kWords && bytes.left == static_cast<int64_t>(kWords + 1 - bytes.next);
  return bytes.seeded == 1 && (is_fresh || is_drawn);
}

RandomState state_of(const RandomBytes& bytes) {
  RandomState state(bytes.seed);
  state.twister.next = static_cast<uint32_t>(bytes.next);
  std::ranges::transform(bytes.words, state.twister.words.begin(), [](uint64_t word) { return uint32_t(word); });
  if (static_cast<int32_t>(bytes.has_normal) != 0) state.normal = bytes.normal;
  return state;
}

}  // namespace

Ref random_state_to_tensor(const RandomState& state) {
  const RandomBytes bytes = bytes_of(state);
  const int64_t size = sizeof bytes;
  Tensor tensor = Tensor::empty(DType::uint8, {&size, 1});
  std::memcpy(tensor->data(), &bytes, sizeof bytes);
  return wrap_tensor(std::move(tensor));
}

RandomState random_state_from_tensor(BorrowedRef value) {
  if (!is_tensor(value)) raise(ErrorKind::Type, "a random state must be Tensor, not ", value.type()->tp_name);
  Tensor tensor = tensor_of(value);
  RandomBytes bytes;
  bool fits = tensor->kind() == TensorKind::Real && tensor->dtype() == DType::uint8 &&
              tensor->numel() == static_cast<int64_t>(sizeof bytes);
  if (!fits) raise(ErrorKind::Runtime, "a random state is a uint8 tensor of ", sizeof bytes, " elements");
  std::memcpy(&bytes, as_contiguous(tensor, DType::uint8)->data(), sizeof bytes);
  if (!is_valid(bytes)) raise(ErrorKind::Runtime, "a random state of the generator mt19937 does not look like this");
  return state_of(bytes);
}

}  // namespace md
