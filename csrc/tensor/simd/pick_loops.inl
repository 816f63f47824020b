// Words at even steps, packed.

template <typename Word, int64_t Step, int Count>
void pick_run(const char* const* src, char* const* dst, int64_t n) {
  typedef Word Loose __attribute__((aligned(1), may_alias));
  const Loose* from[Count];
  Loose* to[Count];
  for (int k = 0; k < Count; ++k) {
    from[k] = reinterpret_cast<const Loose*>(src[k]);
    to[k] = reinterpret_cast<Loose*>(dst[k]);
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    to[0][i] = from[0][i * Step];
    if constexpr (Count > 1) to[1][i] = from[1][i * Step];
    if constexpr (Count > 2) to[2][i] = from[2][i * Step];
  }
}

template <typename Word, int64_t Step>
constexpr void fill_picks(PickLoop (&by_count)[kMostPicks]) {
  by_count[0] = pick_run<Word, Step, 1>;
  by_count[1] = pick_run<Word, Step, 2>;
  by_count[2] = pick_run<Word, Step, 3>;
}
template <typename Word>
constexpr void fill_picks(PickLoop (&by_step)[kPickSteps][kMostPicks]) {
  fill_picks<Word, 2>(by_step[0]);
  fill_picks<Word, 3>(by_step[1]);
  fill_picks<Word, 4>(by_step[2]);
}

constexpr void fill_picks(LoopTable& table) {
  fill_picks<uint8_t>(table.pick[0]);
  fill_picks<uint16_t>(table.pick[1]);
  fill_picks<uint32_t>(table.pick[2]);
  fill_picks<uint64_t>(table.pick[3]);
}
