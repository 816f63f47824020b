// rand, randn, randint, randperm. Each block of the generator makes two elements, each from 64 bits.
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "tensor/call_args.h"
#include "tensor/creation.h"
#include "tensor/fill.h"
#include "tensor/kernels.h"
#include "tensor/random.h"
#include "tensor/threads.h"

namespace md {
namespace {

struct Pair {
  Scalar first, second;
};

uint64_t word_of(uint32_t low, uint32_t high) { return (uint64_t{high} << 32) | low; }

// In [0, count): the word's share of the range, even to 64 bits.
uint64_t below(uint64_t count, uint64_t word) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(word) * count) >> 64);
}

// In [0, 1), with as many bits as the dtype's significand has, so that rounding never gives 1.
double uniform(uint32_t low, uint32_t high, int bits) {
  return std::ldexp(static_cast<double>(word_of(low, high) >> (64 - bits)), -bits);
}

int significand_bits(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 53;
    case DType::float32:
      return 24;
    case DType::float16:
      return 11;
    default:
      return 8;
  }
}

template <typename MakePair>
void generate(const Tensor& out, const MakePair& make_pair) {
  int64_t pairs = (out->numel() + 1) / 2;
  RandomState state = draw_random(static_cast<uint64_t>(pairs));
  size_t item = item_size(out->dtype());
  parallel_for(pairs, 20.0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Pair pair = make_pair(random_block(state.seed, state.position + static_cast<uint64_t>(i)));
      char* place = out.data<char>() + static_cast<size_t>(2 * i) * item;
      store_scalar(out->dtype(), pair.first, place);
      if (2 * i + 1 < out->numel()) store_scalar(out->dtype(), pair.second, place + item);
    }
  });
}

}  // namespace

void manual_seed_kernel(const OpCall& call, std::span<Tensor>) {
  manual_seed(static_cast<uint64_t>(scalar_arg(call, 0).as_int()));
}

void rand_kernel(const OpCall&, std::span<Tensor> outs) {
  int bits = significand_bits(outs[0]->dtype());
  generate(outs[0], [bits](RandomBlock block) {
    return Pair{Scalar(uniform(block.words[0], block.words[1], bits)),
                Scalar(uniform(block.words[2], block.words[3], bits))};
  });
}

void randn_kernel(const OpCall&, std::span<Tensor> outs) {
  generate(outs[0], [](RandomBlock block) {
    double radius = std::sqrt(-2 * std::log(1 - uniform(block.words[0], block.words[1], 53)));
    double angle = 2 * std::numbers::pi * uniform(block.words[2], block.words[3], 53);
    return Pair{Scalar(radius * std::cos(angle)), Scalar(radius * std::sin(angle))};
  });
}

void randint_kernel(const OpCall& call, std::span<Tensor> outs) {
  IntRange range = randint_range(call);
  uint64_t low = static_cast<uint64_t>(range.low);
  uint64_t count = static_cast<uint64_t>(range.high) - low;  // wraps: up to 2^64 - 1
  generate(outs[0], [low, count](RandomBlock block) {
    auto number = [&](int at) {
      return Scalar(static_cast<int64_t>(low + below(count, word_of(block.words[at], block.words[at + 1]))));
    };
    return Pair{number(0), number(2)};
  });
}

// Fisher and Yates.
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
