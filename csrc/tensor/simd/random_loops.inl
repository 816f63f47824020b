// The Mersenne Twister MT19937 (Matsumoto and Nishimura 1998): the next 624 words in place of the previous ones. A word
// depends on one 227 places before it, so that vectors of words are independent.
static uint32_t twisted(uint32_t upper, uint32_t lower) {
  uint32_t mixed = (upper & 0x80000000u) | (lower & 0x7fffffffu);
  return (mixed >> 1) ^ ((0u - (lower & 1u)) & 0x9908b0dfu);
}
static void twist_words_run(uint32_t* words) {
  constexpr int kWords = 624, kShift = 397;
#pragma GCC ivdep
  for (int i = 0; i < kWords - kShift; ++i) words[i] = words[i + kShift] ^ twisted(words[i], words[i + 1]);
#pragma GCC ivdep
  for (int i = kWords - kShift; i < kWords - 1; ++i)
    words[i] = words[i + kShift - kWords] ^ twisted(words[i], words[i + 1]);
  words[kWords - 1] = words[kShift - 1] ^ twisted(words[kWords - 1], words[0]);
}

// The words as they are handed out.
static void temper_words_run(const uint32_t* words, int64_t n, uint32_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t word = words[i];
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680u;
    word ^= (word << 15) & 0xefc60000u;
    out[i] = word ^ (word >> 18);
  }
}

// 24 bits of a word, 53 of two, as numbers in [0, 1) that are stretched to [low, high) with one rounding; what it
// rounds to high becomes low.
static void uniform_floats_run(const uint32_t* words, int64_t n, float low, float high, float* out) {
  float width = high - low;
  for (int64_t i = 0; i < n; ++i) {
    float part = static_cast<float>(static_cast<int32_t>(words[i] & 0xffffffu)) * 0x1p-24f;
    float number = __builtin_fmaf(part, width, low);
    out[i] = number == high ? low : number;
  }
}
static void uniform_doubles_run(const uint32_t* words, int64_t n, double low, double high, double* out) {
  double width = high - low;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t pair;
    __builtin_memcpy(&pair, words + 2 * i, sizeof pair);
    // Both halves as the low bits of doubles: exact, and in vectors of any level.
    double first = __builtin_bit_cast(double, (pair & 0x1fffffu) | 0x4530000000000000u) - 0x1p84;
    double second = __builtin_bit_cast(double, (pair >> 32) | 0x4330000000000000u) - 0x1p52;
    double number = __builtin_fma((first + second) * 0x1p-53, width, low);
    out[i] = number == high ? low : number;
  }
}
