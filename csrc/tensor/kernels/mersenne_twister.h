// The generator MT19937 (Matsumoto and Nishimura 1998), seeded as torch's for CPUs: it hands out the same words.
#pragma once
#include <array>
#include <cstdint>

namespace md {

struct MersenneTwister {
  static constexpr uint32_t kWords = 624;

  explicit MersenneTwister(uint64_t seed);  // of which the lower half counts
  uint32_t draw();
  void draw(uint32_t* out, int64_t n);
  bool operator==(const MersenneTwister&) const = default;

  uint64_t seed;
  uint32_t next = 0;  // the word to be handed out, kWords: none is left; 0: none of a seed's has been made
  std::array<uint32_t, kWords> words;
};

// Two words as one, the first one above.
inline uint64_t long_word(const uint32_t* words) { return (uint64_t{words[0]} << 32) | words[1]; }
// The 53 bits of a uniform number of float64, in units of 2^-53.
inline uint64_t bits_of_uniform(uint64_t word) { return word & ((uint64_t{1} << 53) - 1); }

}  // namespace md
