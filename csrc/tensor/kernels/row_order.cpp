#include "tensor/kernels/row_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/loops.h"
#include "tensor/simd/order_table.h"
#include "tensor/storage.h"

namespace md {
namespace {

constexpr int kDigitBits = 8;
constexpr int64_t kDigits = 1 << kDigitBits;
constexpr int64_t kFewKeys = 96;   // sorted by comparisons
constexpr int64_t kShortRun = 24;  // sorted by insertion
constexpr int64_t kMostByVectors = int64_t{1} << 24;
constexpr int64_t kMostPlacesByVectors = int64_t{1} << 16;
constexpr int64_t kFewLeft = 256;    // selected from by comparisons
constexpr int kBitsThatDecide = 12;  // beyond those that number the keys: few keys agree in them

// Uninitialised memory for n elements.
template <typename T>
class Scratch {
 public:
  explicit Scratch(int64_t n) : storage_(Storage::allocate(static_cast<size_t>(n) * sizeof(T))) {}
  T* data() const { return static_cast<T*>(storage_->data()); }

 private:
  StoragePtr storage_;
};

// Calls body(part, begin, end) for each of `parts` parts of [0, n).
template <typename Body>
void for_parts(int parts, int64_t n, const Body& body) {
  if (parts <= 1) return body(0, int64_t{0}, n);
  int64_t size = (n + parts - 1) / parts;
  auto run = [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part) {
      int64_t begin = std::min(n, part * size);
      body(static_cast<int>(part), begin, std::min(n, begin + size));
    }
  };
  constexpr double kWorthThreads = 1e9;
  parallel_for(parts, kWorthThreads, run);
}

// Orders by `bits` bits from `first_bit` on, stably; the result is in `data` or in `other`.
template <typename Element>
Element* radix_sort(Element* data, Element* other, int64_t n, int first_bit, int bits, int threads) {
  int passes = (bits + kDigitBits - 1) / kDigitBits;
  int width = (bits + passes - 1) / passes;
  int64_t digits = int64_t{1} << width;
  std::vector<std::array<int64_t, kDigits>> counts(static_cast<size_t>(threads));
  for (int pass = 0; pass < passes; ++pass) {
    int shift = first_bit + pass * width;
    auto mask = static_cast<Element>(digits - 1);
    // Whatever lies above the ordered bits is no part of the last digit.
    if (pass + 1 == passes) mask = static_cast<Element>((uint64_t{1} << (bits - pass * width)) - 1);
    for_parts(threads, n, [&](int part, int64_t begin, int64_t end) {
      auto& count = counts[static_cast<size_t>(part)];
      count.fill(0);
      for (int64_t i = begin; i < end; ++i) ++count[static_cast<size_t>((data[i] >> shift) & mask)];
    });
    int64_t total = 0;
    bool is_constant = false;
    for (size_t digit = 0; digit < static_cast<size_t>(digits); ++digit) {
      int64_t before = total;
      for (auto& count : counts) total += std::exchange(count[digit], total);
      is_constant = is_constant || total - before == n;
    }
    if (is_constant) continue;
    for_parts(threads, n, [&](int part, int64_t begin, int64_t end) {
      auto& next = counts[static_cast<size_t>(part)];
      for (int64_t i = begin; i < end; ++i) other[next[static_cast<size_t>((data[i] >> shift) & mask)]++] = data[i];
    });
    std::swap(data, other);
  }
  return data;
}

template <typename Key>
struct Range {
  Key least;
  int bits;  // of the largest difference from the least
};

template <typename Key>
uint64_t difference(Key a, Key b) {
  using Unsigned = std::make_unsigned_t<Key>;
  return static_cast<Unsigned>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
}

template <typename Key>
Range<Key> range_of(const Key* keys, int64_t n, int threads) {
  std::vector<Key> least(static_cast<size_t>(threads), keys[0]), most = least;
  for_parts(threads, n, [&](int part, int64_t begin, int64_t end) {
    auto at = static_cast<size_t>(part);
    if (begin < end) loops().order->of<Key>().extremes(keys + begin, end - begin, &least[at], &most[at]);
  });
  Key low = std::ranges::min(least), high = std::ranges::max(most);
  return {low, static_cast<int>(std::bit_width(difference(high, low)))};
}

// How many of the bits of a range are ordered by digits, the highest ones: the few keys that agree in them are ordered
// by comparisons.
int bits_by_digits(int bits, int64_t n) {
  int enough = static_cast<int>(std::bit_width(static_cast<uint64_t>(n))) + kBitsThatDecide;
  return std::min(bits, (enough + kDigitBits - 1) / kDigitBits * kDigitBits);
}

// Calls body(begin, end) for each run of at least two elements that agree in what `high` gives of them.
template <typename High, typename Body>
void for_runs(int64_t n, int threads, const High& high, const Body& body) {
  int64_t size = (n + threads - 1) / threads;
  std::vector<int64_t> starts(static_cast<size_t>(threads) + 1, n);
  for (int part = 0; part < threads; ++part) {
    int64_t start = std::min(n, part * size);
    while (start > 0 && start < n && high(start - 1) == high(start)) ++start;
    starts[static_cast<size_t>(part)] = start;
  }
  for_parts(threads, threads, [&](int part, int64_t, int64_t) {
    int64_t begin = starts[static_cast<size_t>(part)], end = starts[static_cast<size_t>(part) + 1];
    for (int64_t next = begin + 1; begin < end; begin = next++) {
      while (next < end && high(next) == high(begin)) ++next;
      if (next - begin > 1) body(begin, next);
    }
  });
}

template <typename Key>
void order_few(const Key* keys, int64_t n, int64_t* places) {
  if constexpr (sizeof(Key) == 4) {
    std::array<int64_t, kFewKeys> packed;
    for (int64_t i = 0; i < n; ++i) packed[static_cast<size_t>(i)] = int64_t{keys[i]} * (int64_t{1} << 32) + i;
    std::sort(packed.begin(), packed.begin() + n);
    for (int64_t i = 0; i < n; ++i) places[i] = static_cast<uint32_t>(packed[static_cast<size_t>(i)]);
  } else {
    std::array<std::pair<Key, int64_t>, kFewKeys> pairs;
    for (int64_t i = 0; i < n; ++i) pairs[static_cast<size_t>(i)] = {keys[i], i};
    std::sort(pairs.begin(), pairs.begin() + n);
    for (int64_t i = 0; i < n; ++i) places[i] = pairs[static_cast<size_t>(i)].second;
  }
}

// A run of elements that agree in the bits that were ordered: by all bits of their keys.
template <typename Key>
void order_run(const Key* keys, uint64_t* run, int64_t n, uint64_t mask) {
  if (n <= kShortRun) {
    for (int64_t i = 1; i < n; ++i) {
      uint64_t element = run[i];
      Key key = keys[element & mask];
      int64_t at = i;
      for (; at > 0 && keys[run[at - 1] & mask] > key; --at) run[at] = run[at - 1];
      run[at] = element;
    }
    return;
  }
  Scratch<Key> own(n);
  Scratch<uint64_t> elements(n);
  Scratch<int64_t> places(n);
  std::copy(run, run + n, elements.data());
  for (int64_t i = 0; i < n; ++i) own.data()[i] = keys[run[i] & mask];
  order_row(own.data(), n, n, places.data(), 1);
  for (int64_t i = 0; i < n; ++i) run[i] = elements.data()[places.data()[i]];
}

template <typename Unsigned>
void sort_by_digits(Unsigned* data, int64_t n, int bits, int threads);

template <typename Unsigned>
void sort_run(Unsigned* run, int64_t n) {
  if (n <= kFewKeys) return std::sort(run, run + n);
  const auto [least, most] = std::minmax_element(run, run + n);
  Unsigned low = *least, high = *most;
  for (int64_t i = 0; i < n; ++i) run[i] -= low;
  sort_by_digits(run, n, static_cast<int>(std::bit_width(static_cast<Unsigned>(high - low))), 1);
  for (int64_t i = 0; i < n; ++i) run[i] += low;
}

template <typename Unsigned>
void sort_by_digits(Unsigned* data, int64_t n, int bits, int threads) {
  if (bits == 0) return;
  int ordered = bits_by_digits(bits, n), rest = bits - ordered;
  Scratch<Unsigned> other(n);
  Unsigned* sorted = radix_sort(data, other.data(), n, rest, ordered, threads);
  if (sorted != data) {
    for_parts(threads, n,
              [&](int, int64_t begin, int64_t end) { std::copy(sorted + begin, sorted + end, data + begin); });
  }
  if (rest == 0) return;
  for_runs(
      n, threads, [&](int64_t i) { return data[i] >> rest; },
      [&](int64_t begin, int64_t end) { sort_run(data + begin, end - begin); });
}

// Whether a quicksort of vectors is there, and faster than one by digits.
template <typename Key>
bool sorts_by_vectors(int64_t n) {
  return n <= kMostByVectors && loops().order->of<Key>().sort != nullptr;
}

template <typename Key>
void sort_by_vectors(Key* keys, int64_t n) {
  Scratch<Key> scratch(n + kRoomBehindKeys);
  loops().order->of<Key>().sort(keys, n, scratch.data());
}

template <typename Key>
struct Bounds {
  Key least = std::numeric_limits<Key>::min();
  Key most = std::numeric_limits<Key>::max();
};

// A few keys, about the rank's share of which is less than the wanted one; always the same ones.
template <typename Key>
std::vector<Key> sorted_sample(const Key* keys, int64_t n) {
  constexpr int64_t kFewest = 48, kMost = 4096;
  double root = std::cbrt(static_cast<double>(n));
  int64_t count = std::clamp(static_cast<int64_t>(root * root / 2), kFewest, kMost);
  std::vector<Key> sample(static_cast<size_t>(count + kRoomBehindKeys));
  // One of each stretch: regular distances might meet a pattern in the data.
  int64_t stretch = n / count;
  uint64_t random = 0x9e3779b97f4a7c15;
  for (int64_t i = 0; i < count; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    sample[static_cast<size_t>(i)] =
        keys[i * stretch + static_cast<int64_t>((random >> 33) % static_cast<uint64_t>(stretch))];
  }
  sort_row(sample.data(), count, 1);
  sample.resize(static_cast<size_t>(count));
  return sample;
}

// Collects the keys within bounds; returns how many, and sets the number of those below.
template <typename Key>
int64_t collect(const Key* keys, int64_t n, Bounds<Key> bounds, Key* kept, int64_t* below, int threads) {
  struct Found {
    int64_t begin, kept, below = 0;
  };
  std::vector<Found> found(static_cast<size_t>(threads));
  for_parts(threads, n, [&](int part, int64_t begin, int64_t end) {
    Found own{begin, 0};
    own.kept = loops().order->of<Key>().collect(keys + begin, end - begin, bounds.least, bounds.most, kept + begin,
                                                &own.below);
    found[static_cast<size_t>(part)] = own;
  });
  int64_t count = 0;
  *below = 0;
  for (const Found& part : found) {
    if (part.begin != count) std::copy(kept + part.begin, kept + part.begin + part.kept, kept + count);
    count += part.kept;
    *below += part.below;
  }
  return count;
}

// Each thread collects and sorts the keys between two of a sample's.
template <typename Key>
void sort_between_splitters(Key* keys, int64_t n, int threads) {
  constexpr int kMostParts = 8;
  int parts = std::min(threads, kMostParts);
  std::vector<Key> sample = sorted_sample(keys, n);
  auto splitter = [&](int part) {
    return sample[sample.size() * static_cast<size_t>(part) / static_cast<size_t>(parts)];
  };
  struct Part {
    std::optional<Scratch<Key>> keys;
    int64_t count = 0, start = 0;
  };
  std::vector<Part> found(static_cast<size_t>(parts));
  for_parts(parts, parts, [&](int part, int64_t, int64_t) {
    Bounds<Key> bounds;
    if (part > 0) bounds.least = splitter(part);
    if (part + 1 < parts) {
      bounds.most = splitter(part + 1);
      // Of equal splitters all but the last one's part are empty, as is a part that nothing can be below the end of.
      if (bounds.most <= bounds.least) return;
      --bounds.most;
    }
    Part& own = found[static_cast<size_t>(part)];
    own.keys.emplace(n + kRoomBehindKeys);
    own.count = loops().order->of<Key>().collect(keys, n, bounds.least, bounds.most, own.keys->data(), &own.start);
    sort_by_vectors(own.keys->data(), own.count);
  });
  for_parts(parts, parts, [&](int part, int64_t, int64_t) {
    Part& own = found[static_cast<size_t>(part)];
    if (own.count > 0) std::copy(own.keys->data(), own.keys->data() + own.count, keys + own.start);
  });
}

// The first `kept` places, for far fewer than n.
template <typename Key>
void order_best(const Key* keys, int64_t n, int64_t kept, int64_t* places, int threads) {
  const KeyLoops<Key>& table = loops().order->of<Key>();
  Ranked<Key> last = select_key(keys, n, kept - 1, threads);
  if (last.below > 0) {
    Scratch<int64_t> found(last.below), order(last.below);
    Scratch<Key> own(last.below);
    table.find(keys, n, std::numeric_limits<Key>::min(), static_cast<Key>(last.key - 1), last.below, found.data());
    for (int64_t i = 0; i < last.below; ++i) own.data()[i] = keys[found.data()[i]];
    order_row(own.data(), last.below, last.below, order.data(), threads);
    for (int64_t i = 0; i < last.below; ++i) places[i] = found.data()[order.data()[i]];
  }
  table.find(keys, n, last.key, last.key, kept - last.below, places + last.below);
}

}  // namespace

template <typename Key>
void order_row(const Key* keys, int64_t n, int64_t kept, int64_t* places, int threads) {
  if (kept < n) {
    constexpr int64_t kShare = 4;
    if (kept == 0) return;
    if (n > kFewKeys && kept <= n / kShare) return order_best(keys, n, kept, places, threads);
    Scratch<int64_t> all(n);
    order_row(keys, n, n, all.data(), threads);
    std::copy(all.data(), all.data() + kept, places);
    return;
  }
  if (std::is_sorted(keys, keys + n)) return std::iota(places, places + n, int64_t{0});
  if (n <= kFewKeys) return order_few(keys, n, places);
  Range<Key> range = range_of(keys, n, threads);
  int place_bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(n - 1)));
  bool by_vectors = sorts_by_vectors<int64_t>(n) && n <= kMostPlacesByVectors;
  // Vectors compare all bits that there is room for, beside the sign of their elements.
  int ordered =
      by_vectors ? std::min(range.bits, 63 - place_bits) : std::min(bits_by_digits(range.bits, n), 64 - place_bits);
  int rest = range.bits - ordered;
  uint64_t mask = (uint64_t{1} << place_bits) - 1;
  // The highest bits of each key, and its place below them.
  Scratch<uint64_t> elements(n + kRoomBehindKeys), other(by_vectors ? 0 : n);
  uint64_t* data = elements.data();
  for_parts(threads, n, [&](int, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      data[i] = difference(keys[i], range.least) >> rest << place_bits | static_cast<uint64_t>(i);
    }
  });
  if (by_vectors) {
    sort_by_vectors(reinterpret_cast<int64_t*>(data), n);
  } else {
    data = radix_sort(data, other.data(), n, place_bits, ordered, threads);
  }
  if (rest > 0) {
    for_runs(
        n, threads, [&](int64_t i) { return data[i] >> place_bits; },
        [&](int64_t begin, int64_t end) { order_run(keys, data + begin, end - begin, mask); });
  }
  for_parts(threads, n, [&](int, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) places[i] = static_cast<int64_t>(data[i] & mask);
  });
}

template <typename Key>
void sort_row(Key* keys, int64_t n, int threads) {
  using Unsigned = std::make_unsigned_t<Key>;
  if (std::is_sorted(keys, keys + n)) return;
  if (sorts_by_vectors<Key>(n)) {
    return threads > 1 && n >= kLongRow ? sort_between_splitters(keys, n, threads) : sort_by_vectors(keys, n);
  }
  if (n <= kFewKeys) return std::sort(keys, keys + n);
  Range<Key> range = range_of(keys, n, threads);
  auto* data = reinterpret_cast<Unsigned*>(keys);
  auto least = static_cast<Unsigned>(range.least);
  for_parts(threads, n, [&](int, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) data[i] -= least;
  });
  sort_by_digits(data, n, range.bits, threads);
  for_parts(threads, n, [&](int, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) data[i] += least;
  });
}

template <typename Key>
Ranked<Key> select_key(const Key* keys, int64_t n, int64_t rank, int threads) {
  int64_t below = 0, count = n;
  Scratch<Key> buffers[] = {Scratch<Key>(n), Scratch<Key>(n > kFewLeft ? n : 0)};
  Key* free = buffers[0].data();
  Key* other = buffers[1].data();
  auto keep = [&](Bounds<Key> bounds, int64_t* under) {
    return collect(keys, count, bounds, free, under, count >= kLongRow ? threads : 1);
  };
  while (count > kFewLeft) {
    std::vector<Key> sample = sorted_sample(keys, count);
    auto size = static_cast<int64_t>(sample.size());
    double share = (static_cast<double>(rank - below) + 0.5) / static_cast<double>(count);
    auto middle = static_cast<int64_t>(share * static_cast<double>(size));
    auto margin = static_cast<int64_t>(1.25 * std::sqrt(static_cast<double>(size))) + 1;
    Bounds<Key> bounds;
    if (middle - margin >= 0) bounds.least = sample[static_cast<size_t>(middle - margin)];
    if (middle + margin < size) bounds.most = sample[static_cast<size_t>(middle + margin)];
    int64_t under, within = keep(bounds, &under);
    int64_t wanted = rank - below;
    if (within > count / 2) {
      // Few different keys, perhaps: those equal to one of them are left out, so that fewer remain in any case.
      Key pivot = sample[static_cast<size_t>(std::min(middle, size - 1))];
      bounds = {pivot, pivot};
      within = keep(bounds, &under);
      if (wanted >= under && wanted < under + within) return {pivot, below + under};
    }
    if (wanted < under) {
      bounds = {std::numeric_limits<Key>::min(), static_cast<Key>(bounds.least - 1)};
      within = keep(bounds, &under);
    } else if (wanted >= under + within) {
      bounds = {static_cast<Key>(bounds.most + 1), std::numeric_limits<Key>::max()};
      within = keep(bounds, &under);
    }
    below += under;
    count = within;
    keys = free;
    std::swap(free, other);
    if (bounds.least == bounds.most) return {bounds.least, below};
  }
  if (keys != free) std::copy(keys, keys + count, free);
  auto* wanted = free + (rank - below);
  std::nth_element(free, wanted, free + count);
  Key key = *wanted;
  return {key, below + std::count_if(free, free + count, [&](Key each) { return each < key; })};
}

template <typename Key>
int64_t place_of_rank(const Key* keys, int64_t n, const Ranked<Key>& ranked, int64_t rank) {
  constexpr int64_t kPiece = 1024;
  int64_t places[kPiece];
  int64_t skipped = rank - ranked.below;
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    int64_t size = std::min(kPiece, n - begin);
    int64_t count = loops().order->of<Key>().find(keys + begin, size, ranked.key, ranked.key, size, places);
    if (skipped < count) return begin + places[skipped];
    skipped -= count;
  }
  MD_ASSERT(false, "a key that was selected is not there");
}

#define MD_ROW_ORDER(Key)                                               \
  template void order_row(const Key*, int64_t, int64_t, int64_t*, int); \
  template void sort_row(Key*, int64_t, int);                           \
  template Ranked<Key> select_key(const Key*, int64_t, int64_t, int);   \
  template int64_t place_of_rank(const Key*, int64_t, const Ranked<Key>&, int64_t);
MD_ROW_ORDER(int32_t)
MD_ROW_ORDER(int64_t)
#undef MD_ROW_ORDER

}  // namespace md
