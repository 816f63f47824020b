// rand and randn. Each block of the generator makes two elements, each from 64 bits.
#include <cmath>
#include <numbers>

#include "tensor/call_args.h"
#include "tensor/fill.h"
#include "tensor/kernels.h"
#include "tensor/random.h"
#include "tensor/threads.h"

namespace md {
namespace {

struct Pair {
  double first, second;
};

// In [0, 1), with as many bits as the dtype's significand has, so that rounding never gives 1.
double uniform(uint32_t low, uint32_t high, int bits) {
  uint64_t word = (uint64_t{high} << 32) | low;
  return std::ldexp(static_cast<double>(word >> (64 - bits)), -bits);
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
      store_scalar(out->dtype(), Scalar(pair.first), place);
      if (2 * i + 1 < out->numel()) store_scalar(out->dtype(), Scalar(pair.second), place + item);
    }
  });
}

}  // namespace

void rand_kernel(const OpCall&, std::span<Tensor> outs) {
  int bits = significand_bits(outs[0]->dtype());
  generate(outs[0], [bits](RandomBlock block) {
    return Pair{uniform(block.words[0], block.words[1], bits), uniform(block.words[2], block.words[3], bits)};
  });
}

void randn_kernel(const OpCall&, std::span<Tensor> outs) {
  generate(outs[0], [](RandomBlock block) {
    double radius = std::sqrt(-2 * std::log(1 - uniform(block.words[0], block.words[1], 53)));
    double angle = 2 * std::numbers::pi * uniform(block.words[2], block.words[3], 53);
    return Pair{radius * std::cos(angle), radius * std::sin(angle)};
  });
}

}  // namespace md
