// Uniform numbers, integers and permutations: the numbers of torch's kernels for CPUs, in the order of memory.
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "tensor/fill.h"
#include "tensor/kernels/random_fill.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/shapes/creation.h"

namespace md {
namespace {

// A 16-bit number may be rounded to high: it becomes low.
template <typename T>
void replace_high(const Tensor& out, double low, double high) {
  T* numbers = reinterpret_cast<T*>(out.data<char>());
  T from = T::from_float(static_cast<float>(low));
  float end = T::from_float(static_cast<float>(high)).to_float();
  for (int64_t i = 0; i < out->numel(); ++i) {
    if (numbers[i].to_float() == end) numbers[i] = from;
  }
}

void uniform_floats(const Tensor& out, DType dtype, int64_t count, double low, double high) {
  fill_from_words<float>(dtype, out.data<char>(), count, 1, [=](const uint32_t* words, int64_t n, float* numbers) {
    loops().random.floats(words, n, static_cast<float>(low), static_cast<float>(high), numbers);
  });
}

void uniform_doubles(const Tensor& out, DType dtype, int64_t count, double low, double high) {
  fill_from_words<double>(dtype, out.data<char>(), count, 2, [=](const uint32_t* words, int64_t n, double* numbers) {
    loops().random.doubles(words, n, low, high, numbers);
  });
}

// In [low, high); both parts of complex numbers.
void uniform(const Tensor& out, double low, double high) {
  DType dtype = part_dtype(out->dtype());
  int64_t count = is_complex(out->dtype()) ? 2 * out->numel() : out->numel();
  dtype == DType::float64 ? uniform_doubles(out, dtype, count, low, high)
                          : uniform_floats(out, dtype, count, low, high);
  if (dtype == DType::float16) replace_high<Half>(out, low, high);
  if (dtype == DType::bfloat16) replace_high<BFloat16>(out, low, high);
}

// From `low` on, `count` of them; 0 for 2^64. From 2^28 on, a remainder of 32 bits would be too uneven.
void integers(const Tensor& out, int64_t low, uint64_t count) {
  bool is_long = count == 0 || count >= uint64_t{1} << 28;
  auto number = [=](uint64_t word) {
    return static_cast<int64_t>(count == 0 ? word : static_cast<uint64_t>(low) + word % count);
  };
  auto short_number = [low, n = static_cast<uint32_t>(count)](uint32_t word) { return low + int64_t{word % n}; };
  auto make = [=](const uint32_t* words, int64_t n, int64_t* numbers) {
    for (int64_t i = 0; i < n; ++i) numbers[i] = is_long ? number(long_word(words + 2 * i)) : short_number(words[i]);
  };
  fill_from_words<int64_t>(out->dtype(), out.data<char>(), out->numel(), is_long ? 2 : 1, make);
}

// The nearest number that the dtype holds, as an integer; from 2^63 on what processors convert it to.
int64_t rounded(DType dtype, int64_t value) {
  alignas(8) char element[8];
  store_scalar(dtype, Scalar(value), element);
  double held = load_scalar(dtype, element).as_double();
  return held < 0x1p63 ? static_cast<int64_t>(held) : INT64_MIN;
}

// The distance of numbers as large as this one: their highest digit's number less the digits that are held.
int64_t spacing(DType dtype, int64_t value) {
  int above = std::ilogb(static_cast<double>(std::abs(value))) - row(dtype).digits + 1;
  return int64_t{1} << std::max(above, 0);
}

// A floating dtype rounds numbers of a range, which must not leave it.
IntRange held_range(DType dtype, IntRange range) {
  if (!is_floating(dtype)) return range;
  int64_t first = rounded(dtype, range.low + 1), last = rounded(dtype, range.high - 1);
  if (first < range.low) range.low = first + spacing(dtype, range.low + 1);
  if (last >= range.high) range.high = last - spacing(dtype, range.high - 1);
  return range;
}

// Without a range: up to the largest integer below which all are held, from 31 or 63 bits.
void any_integers(const Tensor& out) {
  DType dtype = out->dtype();
  uint64_t count = static_cast<uint64_t>(largest_exact(dtype)) + 1;
  bool is_long = row(dtype).size == 8;
  auto make = [=](const uint32_t* words, int64_t n, int64_t* numbers) {
    for (int64_t i = 0; i < n; ++i)
      numbers[i] = static_cast<int64_t>((is_long ? long_word(words + 2 * i) : words[i]) % count);
  };
  fill_from_words<int64_t>(dtype, out.data<char>(), out->numel(), is_long ? 2 : 1, make);
}

// Fisher and Yates's shuffle.
std::vector<int64_t> permutation(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (n < 2) return order;
  RandomDraws draws;
  for (int64_t i = 0; i < n - 1; ++i) {
    size_t other = draws.word() % static_cast<uint64_t>(n - i);
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(i) + other]);
  }
  return order;
}

// For so many that a remainder of 32 bits would be too uneven: each number to a place among those before it.
std::vector<int64_t> long_permutation(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  RandomDraws draws;
  for (int64_t i = 0; i < n; ++i) {
    size_t other = draws.long_word() % static_cast<uint64_t>(i + 1);
    order[static_cast<size_t>(i)] = order[other];
    order[other] = i;
  }
  return order;
}

}  // namespace

void manual_seed_kernel(const OpCall& call, std::span<Tensor>) {
  manual_seed(static_cast<uint64_t>(scalar_arg(call, 0).as_int()));
}

void rand_kernel(const OpCall&, std::span<Tensor> outs) { uniform(outs[0], 0, 1); }

void uniform_kernel(const OpCall& call, std::span<Tensor> outs) {
  uniform(outs[0], scalar_arg(call, 1).as_double(), scalar_arg(call, 2).as_double());
}

void randint_kernel(const OpCall& call, std::span<Tensor> outs) {
  IntRange range = held_range(outs[0]->dtype(), randint_range(call));
  integers(outs[0], range.low, static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low));
}

void integers_from_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (arg_is_none(call, 1)) return any_integers(out);
  int64_t low = int_arg(call, 1);
  uint64_t last = static_cast<uint64_t>(largest_exact(out->dtype()));
  integers(out, low, last - static_cast<uint64_t>(low) + 1);
}

// 1 where the 53 bits of a uniform number are below p's.
void bernoulli_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  uint64_t below = static_cast<uint64_t>(std::ceil(scalar_arg(call, 1).as_double() * 0x1p53));
  auto make = [below](const uint32_t* words, int64_t n, bool* numbers) {
    for (int64_t i = 0; i < n; ++i) numbers[i] = bits_of_uniform(long_word(words + 2 * i)) < below;
  };
  fill_from_words<bool>(out->dtype(), out.data<char>(), out->numel(), 2, make);
}

void randperm_kernel(const OpCall&, std::span<Tensor> outs) {
  int64_t n = outs[0]->numel();
  std::vector<int64_t> order = n < int64_t{UINT32_MAX} / 20 ? permutation(n) : long_permutation(n);
  loops().convert[static_cast<int>(DType::int64)][static_cast<int>(outs[0]->dtype())](order.data(),
                                                                                      outs[0].data<char>(), n);
}

}  // namespace md
