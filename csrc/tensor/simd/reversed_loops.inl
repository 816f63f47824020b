// Words in the opposite order.

template <typename Word, int... I>
void reversed_run(const char* src, char* dst, int64_t n, std::integer_sequence<int, I...>) {
  constexpr int64_t kCount = sizeof...(I), kItem = sizeof(Word);
  typedef Word Loose __attribute__((aligned(1), may_alias));
  typedef Word Words __attribute__((vector_size(kCount * kItem), aligned(1), may_alias));
  int64_t i = 0;
  for (; i + kCount <= n; i += kCount) {
    Words words = *reinterpret_cast<const Words*>(src - (i + kCount - 1) * kItem);
    *reinterpret_cast<Words*>(dst + i * kItem) = __builtin_shufflevector(words, words, (int(kCount) - 1 - I)...);
  }
  for (; i < n; ++i) reinterpret_cast<Loose*>(dst)[i] = reinterpret_cast<const Loose*>(src)[-i];
}

template <typename Word>
void reversed_run(const char* src, char* dst, int64_t n) {
  reversed_run<Word>(src, dst, n, std::make_integer_sequence<int, MD_LEVEL_BYTES / int(sizeof(Word))>());
}

constexpr void fill_reversed(LoopTable& table) {
  table.reversed[0] = reversed_run<uint8_t>;
  table.reversed[1] = reversed_run<uint16_t>;
  table.reversed[2] = reversed_run<uint32_t>;
  table.reversed[3] = reversed_run<uint64_t>;
}
