// Rows of words become columns: dst[i * count + k] = src[k * step + i].

// Words of less than 4 bytes have no shuffles of long vectors.
template <typename Word>
constexpr int kDealBytes = sizeof(Word) < 4 ? 16 : MD_LEVEL_BYTES;
template <typename Word>
struct DealtOf {
  typedef Word type __attribute__((vector_size(kDealBytes<Word>), aligned(1), may_alias));
};
template <typename Word>
using Dealt = typename DealtOf<Word>::type;
template <typename Word>
constexpr int kDealt = kDealBytes<Word> / int(sizeof(Word));

template <typename Word, bool FromMiddle, int... I>
inline Dealt<Word> dealt_in_turn(Dealt<Word> a, Dealt<Word> b, std::integer_sequence<int, I...>) {
  constexpr int kCount = sizeof...(I), kFirst = FromMiddle ? kCount / 2 : 0;
  return __builtin_shufflevector(a, b, (I % 2 * kCount + kFirst + I / 2)...);
}

// A power of 2 of lines: each round turns the numbers of their words by one bit.
template <int Count, typename Word>
inline void deal_lines(Dealt<Word>* lines) {
  constexpr auto kAll = std::make_integer_sequence<int, kDealt<Word>>();
  Dealt<Word> turned[Count];
#pragma GCC unroll 4
  for (int round = 1; round < Count; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < Count / 2; ++i) {
      turned[2 * i] = dealt_in_turn<Word, false>(lines[i], lines[i + Count / 2], kAll);
      turned[2 * i + 1] = dealt_in_turn<Word, true>(lines[i], lines[i + Count / 2], kAll);
    }
#pragma GCC unroll 16
    for (int i = 0; i < Count; ++i) lines[i] = turned[i];
  }
}

// Line `Line` of three that are dealt; what is of the third one is put in at the end.
template <int Line, typename Word, int... I>
inline Dealt<Word> third_line(const Dealt<Word>* lines, std::integer_sequence<int, I...>) {
  constexpr int kCount = sizeof...(I), kFirst = Line * kCount;
  Dealt<Word> two = __builtin_shufflevector(
      lines[0], lines[1], ((kFirst + I) % 3 == 2 ? 0 : (kFirst + I) % 3 * kCount + (kFirst + I) / 3)...);
  return __builtin_shufflevector(two, lines[2], ((kFirst + I) % 3 == 2 ? kCount + (kFirst + I) / 3 : I)...);
}

template <int Count, typename Word>
int64_t deal_in_vectors(const char* src, int64_t step, char* dst, int64_t n) {
  constexpr int64_t kSide = kDealt<Word>, kItem = sizeof(Word);
  int64_t i = 0;
  for (; i + kSide <= n; i += kSide) {
    Dealt<Word> lines[Count];
#pragma GCC unroll 16
    for (int k = 0; k < Count; ++k) lines[k] = *reinterpret_cast<const Dealt<Word>*>(src + k * step + i * kItem);
    if constexpr (Count == 3) {
      constexpr auto kAll = std::make_integer_sequence<int, kDealt<Word>>();
      Dealt<Word> turned[] = {third_line<0, Word>(lines, kAll), third_line<1, Word>(lines, kAll),
                              third_line<2, Word>(lines, kAll)};
      for (int k = 0; k < 3; ++k) lines[k] = turned[k];
    } else {
      deal_lines<Count, Word>(lines);
    }
#pragma GCC unroll 16
    for (int k = 0; k < Count; ++k) *reinterpret_cast<Dealt<Word>*>(dst + (i * Count + k * kSide) * kItem) = lines[k];
  }
  return i;
}

template <typename Word>
int64_t deal_vectors(const char* src, int64_t step, int64_t count, char* dst, int64_t n) {
  switch (count) {
    case 2:
      return deal_in_vectors<2, Word>(src, step, dst, n);
    case 3:
      return deal_in_vectors<3, Word>(src, step, dst, n);
    case 4:
      return deal_in_vectors<4, Word>(src, step, dst, n);
    case 8:
      return deal_in_vectors<8, Word>(src, step, dst, n);
    case 16:
      return deal_in_vectors<16, Word>(src, step, dst, n);
    default:
      return 0;
  }
}

// Squares of as many rows as a vector has words; how many rows were dealt.
template <typename Word>
int64_t deal_squares(const char* src, int64_t step, int64_t count, char* dst, int64_t n) {
  constexpr int64_t kSide = kDealt<Word>, kItem = sizeof(Word);
  int64_t rows = count / kSide * kSide;
  for (int64_t i = 0; i + kSide <= n; i += kSide) {
    for (int64_t k = 0; k < rows; k += kSide) {
      Dealt<Word> lines[kSide];
#pragma GCC unroll 16
      for (int line = 0; line < kSide; ++line)
        lines[line] = *reinterpret_cast<const Dealt<Word>*>(src + (k + line) * step + i * kItem);
      deal_lines<kSide, Word>(lines);
#pragma GCC unroll 16
      for (int line = 0; line < kSide; ++line)
        *reinterpret_cast<Dealt<Word>*>(dst + ((i + line) * count + k) * kItem) = lines[line];
    }
  }
  return rows;
}

template <typename Word>
void deal_run(const char* src, int64_t step, int64_t count, char* dst, int64_t n) {
  typedef Word Loose __attribute__((aligned(1), may_alias));
  int64_t done = deal_vectors<Word>(src, step, count, dst, n), rows = 0;
  if (done == 0) rows = deal_squares<Word>(src, step, count, dst, n);
  for (int64_t k = 0; k < count; ++k) {
    auto* from = reinterpret_cast<const Loose*>(src + k * step);
    auto* to = reinterpret_cast<Loose*>(dst) + k;
#pragma GCC ivdep
    for (int64_t i = k < rows ? n / kDealt<Word> * kDealt<Word> : done; i < n; ++i) to[i * count] = from[i];
  }
}
