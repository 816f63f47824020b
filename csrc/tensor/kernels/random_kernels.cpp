// rand, randn, randint, randperm. Each block of the generator yields two elements, each from 64 bits.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "tensor/fill.h"
#include "tensor/kernels/dim_slices.h"
#include "tensor/kernels/random.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/shapes/creation.h"
#include "tensor/simd/loops.h"
#include "tensor/simd/pointwise.h"

namespace md {
namespace {

uint64_t word_of(uint32_t low, uint32_t high) { return (uint64_t{high} << 32) | low; }

// In [0, count): the word's share of the range, exact to 64 bits.
uint64_t below(uint64_t count, uint64_t word) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(word) * count) >> 64);
}

// Words of consecutive blocks.
struct Words {
  const uint32_t* words;
  int64_t n;
  uint32_t operator()(int number, int64_t block) const { return words[number * n + block]; }
  uint64_t pair(int number, int64_t block) const { return word_of((*this)(number, block), (*this)(number + 1, block)); }
};

// fill(words, values) computes two values per block. Blocks are processed in chunks of fixed length, so results do not
// depend on the number of threads.
template <typename T, typename Fill>
void generate(const Tensor& out, const Fill& fill) {
  constexpr int64_t kBlocks = 256;
  int64_t blocks = (out->numel() + 1) / 2;
  RandomState state = draw_random(static_cast<uint64_t>(blocks));
  ConvertLoop convert = loops().convert[static_cast<int>(dtype_of<T>())][static_cast<int>(out->dtype())];
  size_t item = item_size(out->dtype());
  parallel_for((blocks + kBlocks - 1) / kBlocks, 4.0 * kBlocks, [&](int64_t begin, int64_t end) {
    alignas(64) uint32_t words[4 * kBlocks];
    alignas(64) T values[2 * kBlocks];
    for (int64_t part = begin; part < end; ++part) {
      int64_t first = part * kBlocks, n = std::min(kBlocks, blocks - first);
      loops().random_words(state.seed, state.position + static_cast<uint64_t>(first), n, words);
      fill(Words{words, n}, values);
      int64_t count = std::min(2 * n, out->numel() - 2 * first);
      convert(values, out.data<char>() + static_cast<size_t>(2 * first) * item, count);
    }
  });
}

// In [0, 1), with as many bits as the dtype's significand, so that rounding never yields 1.
template <typename T>
void uniform(const Tensor& out) {
  int bits = row(out->dtype()).digits;
  T scale = static_cast<T>(std::ldexp(1.0, -bits));
  generate<T>(out, [=](Words words, T* values) {
    for (int64_t i = 0; i < words.n; ++i) {
      for (int half = 0; half < 2; ++half) {
        uint64_t whole = words.pair(2 * half, i) >> (64 - bits);
        values[2 * i + half] = static_cast<T>(static_cast<int64_t>(whole)) * scale;
      }
    }
  });
}

template <typename T>
void apply(Pointwise function, T* values, int64_t n) {
  const void* src[] = {values};
  pointwise_loop(static_cast<int>(function), dtype_of<T>())(src, values, n, nullptr);
}

// Box-Muller: the first half of a block is the radius, the second the angle. float32 uses 32 bits of each, which reach
// up to 6.7 standard deviations, and float64 uses 53.
template <typename T>
void normal(const Tensor& out) {
  constexpr int kBits = std::is_same_v<T, double> ? 53 : 32;
  const T scale = static_cast<T>(std::ldexp(1.0, -kBits)), turn = static_cast<T>(2 * std::numbers::pi) * scale;
  generate<T>(out, [=](Words words, T* values) {
    constexpr int64_t kMost = 256;
    alignas(64) T radius[kMost], cosine[kMost], sine[kMost];
    int64_t n = words.n;
    for (int64_t i = 0; i < n; ++i) {
      uint64_t first = words.pair(0, i) >> (64 - kBits), second = words.pair(2, i) >> (64 - kBits);
      radius[i] = static_cast<T>(static_cast<int64_t>((uint64_t{1} << kBits) - first)) * scale;  // in (0, 1]
      cosine[i] = sine[i] = static_cast<T>(static_cast<int64_t>(second)) * turn;
    }
    apply(Pointwise::log, radius, n);
    for (int64_t i = 0; i < n; ++i) radius[i] *= T(-2);
    apply(Pointwise::sqrt, radius, n);
    apply(Pointwise::cos, cosine, n);
    apply(Pointwise::sin, sine, n);
    for (int64_t i = 0; i < n; ++i) {
      values[2 * i] = radius[i] * cosine[i];
      values[2 * i + 1] = radius[i] * sine[i];
    }
  });
}

template <typename T>
void copy_scaled(const Tensor& from, const Tensor& to, double factor) {
  const T* src = from.data<T>();
  T* dst = reinterpret_cast<T*>(to.data<char>());
  for (int64_t i = 0; i < from->numel(); ++i) dst[i] = src[i] * static_cast<T>(factor);
}

using Fill = void (*)(const Tensor&);

// A tensor of floats, or both parts of complex numbers, each times the factor.
template <Fill fill_float, Fill fill_double>
void fill_parts(const Tensor& out, double factor) {
  DType dtype = part_dtype(out->dtype());
  Fill fill = dtype == DType::float64 ? fill_double : fill_float;
  if (dtype == out->dtype()) return fill(out);
  const int64_t sizes[] = {2 * out->numel()};
  Tensor parts = Tensor::empty(dtype, sizes);
  fill(parts);
  dtype == DType::float64 ? copy_scaled<double>(parts, out, factor) : copy_scaled<float>(parts, out, factor);
}

}  // namespace

void manual_seed_kernel(const OpCall& call, std::span<Tensor>) {
  manual_seed(static_cast<uint64_t>(scalar_arg(call, 0).as_int()));
}

void rand_kernel(const OpCall&, std::span<Tensor> outs) { fill_parts<uniform<float>, uniform<double>>(outs[0], 1.0); }

// Both parts of a complex number have half of its variance.
void randn_kernel(const OpCall&, std::span<Tensor> outs) {
  fill_parts<normal<float>, normal<double>>(outs[0], std::numbers::sqrt2 / 2);
}

void randint_kernel(const OpCall& call, std::span<Tensor> outs) {
  IntRange range = randint_range(call);
  uint64_t low = static_cast<uint64_t>(range.low);
  uint64_t count = static_cast<uint64_t>(range.high) - low;  // wraps: up to 2^64 - 1
  generate<int64_t>(outs[0], [low, count](Words words, int64_t* values) {
    for (int64_t i = 0; i < words.n; ++i) {
      for (int half = 0; half < 2; ++half) {
        values[2 * i + half] = static_cast<int64_t>(low + below(count, words.pair(2 * half, i)));
      }
    }
  });
}

// Fisher-Yates shuffle.
void randperm_kernel(const OpCall&, std::span<Tensor> outs) {
  int64_t n = outs[0]->numel();
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  RandomState state = draw_random(static_cast<uint64_t>(n));
  size_t item = item_size(outs[0]->dtype());
  for (int64_t i = 0; i < n; ++i) {
    RandomBlock block = random_block(state.seed, state.position + static_cast<uint64_t>(i));
    uint64_t other = below(static_cast<uint64_t>(n - i), word_of(block.words[0], block.words[1]));
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(i) + other]);
    store_scalar(outs[0]->dtype(), Scalar(order[static_cast<size_t>(i)]),
                 outs[0].data<char>() + static_cast<size_t>(i) * item);
  }
}

}  // namespace md
