#include "tensor/kernels/mersenne_twister.h"

#include <algorithm>

#include "tensor/simd/loops.h"

namespace md {

MersenneTwister::MersenneTwister(uint64_t seed) : seed(seed) {
  words[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kWords; ++i) words[i] = 1812433253u * (words[i - 1] ^ (words[i - 1] >> 30)) + i;
}

uint32_t MersenneTwister::draw() {
  uint32_t word;
  draw(&word, 1);
  return word;
}

void MersenneTwister::draw(uint32_t* out, int64_t n) {
  const RandomLoops& random = loops().random;
  while (n > 0) {
    if (next == 0 || next == kWords) {
      random.twist(words.data());
      next = 0;
    }
    int64_t taken = std::min<int64_t>(n, kWords - next);
    random.temper(words.data() + next, taken, out);
    next += static_cast<uint32_t>(taken);
    out += taken;
    n -= taken;
  }
}

}  // namespace md
