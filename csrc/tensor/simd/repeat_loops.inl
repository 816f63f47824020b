// One word, repeated.

// Vectors that cross the end of a cache line take twice as long to store.
template <typename Word>
void repeat_run(const char* src, char* dst, int64_t n) {
  typedef Word Loose __attribute__((aligned(1), may_alias));
  constexpr uintptr_t kLine = 64;
  const Word word = *reinterpret_cast<const Loose*>(src);
  auto* to = reinterpret_cast<Loose*>(dst);
  int64_t to_line = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) % kLine / sizeof(Word));
  int64_t head = std::min(n, to_line);
  for (int64_t i = 0; i < head; ++i) to[i] = word;
  for (int64_t i = head; i < n; ++i) to[i] = word;
}

constexpr void fill_repeats(LoopTable& table) {
  table.repeat[0] = repeat_run<uint8_t>;
  table.repeat[1] = repeat_run<uint16_t>;
  table.repeat[2] = repeat_run<uint32_t>;
  table.repeat[3] = repeat_run<uint64_t>;
}
