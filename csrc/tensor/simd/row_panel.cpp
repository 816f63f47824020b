#include "tensor/simd/row_panel.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace md {
namespace {

constexpr int64_t kCacheLineBytes = 64, kVectorBytes = 16;
constexpr int64_t kRows = 16, kByteRows = 32, kMostBytes = 256 * 1024;  // of a panel, in the second level of cache

template <typename Word>
struct WordsOf {
  typedef Word type __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
};
template <typename Word>
using Words = WordsOf<Word>::type;

// Elements 2i and 2i + 1 of the result are elements i of a and b, from the first or from the middle on.
template <typename Word, bool FromMiddle, int... I>
Words<Word> interleaved(Words<Word> a, Words<Word> b, std::integer_sequence<int, I...>) {
  constexpr int kCount = sizeof...(I), kFirst = FromMiddle ? kCount / 2 : 0;
  return __builtin_shufflevector(a, b, (I % 2 * kCount + kFirst + I / 2)...);
}

// A square of words; the columns of `from` become the rows of `to`. Interleaving the first half of the vectors with the
// second one turns the words' numbers by one bit.
template <typename Word>
void transpose_square(const char* from, int64_t step, char* to, int64_t pitch) {
  constexpr int kSide = kVectorBytes / sizeof(Word);
  constexpr auto kAll = std::make_integer_sequence<int, kSide>();
  Words<Word> lines[kSide], turned[kSide];
#pragma GCC unroll 16
  for (int i = 0; i < kSide; ++i) {
    lines[i] = *reinterpret_cast<const Words<Word>*>(from + i * step);
  }
#pragma GCC unroll 4
  for (int round = 1; round < kSide; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < kSide / 2; ++i) {
      turned[2 * i] = interleaved<Word, false>(lines[i], lines[i + kSide / 2], kAll);
      turned[2 * i + 1] = interleaved<Word, true>(lines[i], lines[i + kSide / 2], kAll);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) lines[i] = turned[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < kSide; ++i) {
    *reinterpret_cast<Words<Word>*>(to + i * pitch) = lines[i];
  }
}

// to[r * pitch + c] = from[c * step + r].
template <typename Word>
void transpose_words(const char* from, int64_t step, int64_t columns, int64_t rows, char* to, int64_t pitch) {
  constexpr int64_t kItem = sizeof(Word), kSide = kVectorBytes / kItem;
  int64_t whole_columns = columns / kSide * kSide, whole_rows = rows / kSide * kSide;
  for (int64_t c = 0; c < whole_columns; c += kSide) {
    for (int64_t r = 0; r < whole_rows; r += kSide) {
      transpose_square<Word>(from + c * step + r * kItem, step, to + r * pitch + c * kItem, pitch);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      std::memcpy(to + r * pitch + c * kItem, from + c * step + r * kItem, kItem);
    }
  }
}

void transpose_items(int64_t item, const char* from, int64_t step, int64_t columns, int64_t rows, char* to,
                     int64_t pitch) {
  switch (item) {
    case 1:
      return transpose_words<uint8_t>(from, step, columns, rows, to, pitch);
    case 2:
      return transpose_words<uint16_t>(from, step, columns, rows, to, pitch);
    case 4:
      return transpose_words<uint32_t>(from, step, columns, rows, to, pitch);
    default:
      return transpose_words<uint64_t>(from, step, columns, rows, to, pitch);
  }
}

int64_t most_rows(const RowPanel::Rows& rows) { return rows.item == 1 ? kByteRows : kRows; }

// In bytes; a cache line more than a row, so that the rows lie in different sets of the cache.
int64_t pitch_of(const RowPanel::Rows& rows) { return rows.columns * rows.item + kCacheLineBytes; }

}  // namespace

bool RowPanel::suits(const Rows& rows) { return rows.columns <= most_columns(rows); }

int64_t RowPanel::most_columns(const Rows& rows) {
  bool is_across =
      rows.item <= 8 && rows.row_step == rows.item && std::abs(rows.step) > rows.item && rows.rows >= kRows / 2;
  return is_across ? (kMostBytes / most_rows(rows) - kCacheLineBytes) / rows.item : 0;
}

const char* RowPanel::row(const Rows& rows, const char* first, int64_t place) {
  int64_t pitch = pitch_of(rows);
  if (first != first_ || place < begin_ || place >= end_) {
    if (bytes_ == nullptr) bytes_.reset(new char[static_cast<size_t>(most_rows(rows) * pitch)]);
    first_ = first;
    begin_ = place;
    end_ = std::min(place + most_rows(rows), rows.rows);
    transpose_items(rows.item, first + place * rows.item, rows.step, rows.columns, end_ - begin_, bytes_.get(), pitch);
  }
  return bytes_.get() + (place - begin_) * pitch;
}

}  // namespace md
