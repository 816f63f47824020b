// Sorts and selections of keys against std::stable_sort: every instruction level, numbers of threads, sizes, patterns.
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/error.h"
#include "check.h"
#include "tensor/kernels/row_order.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/loops.h"

namespace {

using namespace md;

template <typename Key>
using Pattern = Key (*)(std::mt19937_64& random, int64_t i);

template <typename Key>
constexpr Pattern<Key> kPatterns[] = {
    [](std::mt19937_64& random, int64_t) { return static_cast<Key>(random()); },
    [](std::mt19937_64& random, int64_t) { return static_cast<Key>(random() % 5); },
    [](std::mt19937_64& random, int64_t i) { return static_cast<Key>(i * 4 + static_cast<int64_t>(random() % 16)); },
    [](std::mt19937_64&, int64_t i) { return static_cast<Key>(-i); },
    [](std::mt19937_64&, int64_t) { return std::numeric_limits<Key>::max(); },
    [](std::mt19937_64& random, int64_t) {
      return random() % 2 == 0 ? std::numeric_limits<Key>::min() : std::numeric_limits<Key>::max();
    },
    // One key far from the others, which agree in their upper halves.
    [](std::mt19937_64& random, int64_t i) {
      return i == 3 ? std::numeric_limits<Key>::max() : static_cast<Key>(random() % 1024);
    },
};

template <typename Key>
void check_row(const std::vector<Key>& keys, int threads) {
  auto n = static_cast<int64_t>(keys.size());
  std::vector<int64_t> expected(keys.size()), places(keys.size());
  std::iota(expected.begin(), expected.end(), 0);
  std::ranges::stable_sort(expected, {}, [&](int64_t place) { return keys[static_cast<size_t>(place)]; });
  order_row(keys.data(), n, n, places.data(), threads);
  CHECK(places == expected);
  for (int64_t kept : {int64_t{1}, n / 7, n / 2}) {
    std::vector<int64_t> best(static_cast<size_t>(kept));
    order_row(keys.data(), n, kept, best.data(), threads);
    CHECK(std::equal(best.begin(), best.end(), expected.begin()));
  }
  std::vector<Key> sorted = keys;
  sorted.resize(keys.size() + kRoomBehindKeys);
  sort_row(sorted.data(), n, threads);
  for (int64_t rank : {int64_t{0}, n / 3, n / 2, n - 1}) {
    int64_t place = expected[static_cast<size_t>(rank)];
    Ranked<Key> found = select_key(keys.data(), n, rank, threads);
    CHECK(found.key == keys[static_cast<size_t>(place)] && found.key == sorted[static_cast<size_t>(rank)]);
    CHECK(found.below == std::ranges::count_if(keys, [&](Key key) { return key < found.key; }));
    CHECK(place_of_rank(keys.data(), n, found, rank) == place);
  }
  sorted.resize(keys.size());
  CHECK(std::ranges::is_sorted(sorted));
}

template <typename Key>
void check_rows() {
  for (int64_t size : {1, 2, 7, 16, 33, 64, 65, 97, 257, 1000, 5000, 70000}) {
    for (Pattern<Key> pattern : kPatterns<Key>) {
      std::mt19937_64 random(static_cast<uint64_t>(size));
      std::vector<Key> keys(static_cast<size_t>(size));
      for (int64_t i = 0; i < size; ++i) keys[static_cast<size_t>(i)] = pattern(random, i);
      for (int threads : {1, 3}) check_row(keys, threads);
    }
  }
}

TEST(rows_at_each_level) {
  set_num_threads(2);
  for (const char* level : {"baseline", "avx2", "avx512"}) {
    try {
      use_instruction_level(level);
    } catch (const Error&) {
      continue;  // not supported by this processor
    }
    check_rows<int32_t>();
    check_rows<int64_t>();
  }
}

}  // namespace
