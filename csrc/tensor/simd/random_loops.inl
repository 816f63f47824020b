// Blocks of the generator: word k of block i becomes words[k * n + i].
static void random_words_run(uint64_t seed, uint64_t position, int64_t n, uint32_t* words) {
  uint32_t *w0 = words, *w1 = words + n, *w2 = words + 2 * n, *w3 = words + 3 * n;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    uint64_t number = position + static_cast<uint64_t>(i);
    uint32_t low_key = static_cast<uint32_t>(seed), high_key = static_cast<uint32_t>(seed >> 32);
    uint32_t c0 = static_cast<uint32_t>(number), c1 = static_cast<uint32_t>(number >> 32), c2 = 0, c3 = 0;
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      uint64_t left = uint64_t{0xD2511F53} * c0;
      uint64_t right = uint64_t{0xCD9E8D57} * c2;
      c0 = static_cast<uint32_t>(right >> 32) ^ c1 ^ low_key;
      c1 = static_cast<uint32_t>(right);
      c2 = static_cast<uint32_t>(left >> 32) ^ c3 ^ high_key;
      c3 = static_cast<uint32_t>(left);
      low_key += 0x9E3779B9;
      high_key += 0xBB67AE85;
    }
    w0[i] = c0;
    w1[i] = c1;
    w2[i] = c2;
    w3[i] = c3;
  }
}
