#include "tensor/simd/element_walk.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/rounding.h"
#include "tensor/simd/lane_table.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

template <typename Word>
void copy_words(const char* src, int64_t src_step, char* dst, int64_t dst_step, int64_t n) {
  constexpr int64_t kItem = sizeof(Word);
  constexpr int kWidth = std::countr_zero(static_cast<unsigned>(kItem));
  if (src_step == -kItem && dst_step == kItem) return loops().reversed[kWidth](src, dst, n);
  if (src_step == kItem && dst_step == -kItem)
    return loops().reversed[kWidth](src + (n - 1) * kItem, dst - (n - 1) * kItem, n);
  if (src_step == 0 && dst_step == kItem) return loops().repeat[kWidth](src, dst, n);
  int64_t skipped = src_step / kItem - 2;
  if (dst_step == kItem && src_step % kItem == 0 && skipped >= 0 && skipped < kPickSteps) {
    // Copies: the loops below keep src and dst in registers, since nothing points to them.
    const char* from[] = {src};
    char* to[] = {dst};
    return loops().pick[kWidth][skipped][0](from, to, n);
  }
  Word value;
  if (src_step == 0) {
    std::memcpy(&value, src, sizeof value);
    for (; n > 0; --n, dst += dst_step) std::memcpy(dst, &value, sizeof value);
    return;
  }
  constexpr int kTogether = 4;
  for (; n >= kTogether; n -= kTogether, src += kTogether * src_step, dst += kTogether * dst_step) {
    Word values[kTogether];
    for (int i = 0; i < kTogether; ++i) std::memcpy(&values[i], src + i * src_step, sizeof value);
    for (int i = 0; i < kTogether; ++i) std::memcpy(dst + i * dst_step, &values[i], sizeof value);
  }
  for (; n > 0; --n, src += src_step, dst += dst_step) {
    std::memcpy(&value, src, sizeof value);
    std::memcpy(dst, &value, sizeof value);
  }
}

// Of 16 bytes, which need not be aligned to more than 8.
void copy_long_words(const char* src, int64_t src_step, char* dst, int64_t dst_step, int64_t n) {
  Complex<double> value;
  for (; n > 0; --n, src += src_step, dst += dst_step) {
    std::memcpy(&value, src, sizeof value);
    std::memcpy(dst, &value, sizeof value);
  }
}

}  // namespace

void copy_items(int64_t item, const void* from, int64_t src_step, void* to, int64_t dst_step, int64_t n) {
  auto* src = static_cast<const char*>(from);
  auto* dst = static_cast<char*>(to);
  if (src_step == item && dst_step == item) {
    std::memcpy(dst, src, static_cast<size_t>(n * item));
    return;
  }
  switch (item) {
    case 1:
      return copy_words<uint8_t>(src, src_step, dst, dst_step, n);
    case 2:
      return copy_words<uint16_t>(src, src_step, dst, dst_step, n);
    case 4:
      return copy_words<uint32_t>(src, src_step, dst, dst_step, n);
    case 8:
      return copy_words<uint64_t>(src, src_step, dst, dst_step, n);
    default:
      return copy_long_words(src, src_step, dst, dst_step, n);
  }
}

bool are_picked_together(int64_t item, int64_t step, size_t count) {
  int64_t words = step / item;
  return item <= 8 && count > 1 && count <= kMostPicks && step % item == 0 && words >= 2 && words < 2 + kPickSteps;
}

void pick_together(int64_t item, int64_t step, std::span<const char* const> from, std::span<char* const> to,
                   int64_t n) {
  auto width = static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(item)));
  MD_ASSERT(width < std::size(loops().pick), "elements of ", item, " bytes");
  loops().pick[width][step / item - 2][from.size() - 1](from.data(), to.data(), n);
}

ElementWalk::ElementWalk(std::span<const int64_t> sizes) : rank_(static_cast<int>(sizes.size())) {
  if (rank_ > kMaxRank)
    raise(ErrorKind::Runtime, "tensors of more than ", kMaxRank, " dims are not supported, got ", rank_);
  std::copy(sizes.begin(), sizes.end(), sizes_);
  for (int64_t size : sizes) count_ *= size;
}

void ElementWalk::add(size_t item_bytes, const int64_t* strides) {
  int64_t item = static_cast<int64_t>(item_bytes);
  for (int i = 0; i < rank_; ++i) strides_[operand_count_][i] = strides[i] * item;
  items_[operand_count_++] = item;
}

void ElementWalk::add(const Tensor& tensor) {
  int64_t strides[kMaxRank];
  int shift = rank_ - tensor->rank();
  for (int i = 0; i < rank_; ++i) {
    bool broadcast = i < shift || (tensor->sizes()[i - shift] == 1 && sizes_[i] != 1);
    strides[i] = broadcast ? 0 : tensor->strides()[i - shift];
  }
  add(item_size(tensor->dtype()), strides);
}

void ElementWalk::finish(bool reorder, Tiles tiles) {
  if (reorder) {
    // Insertion sort by how far apart the first operand's elements lie, the furthest first; stable.
    for (int i = 1; i < rank_; ++i) {
      for (int j = i; j > 0 && std::abs(strides_[0][j - 1]) < std::abs(strides_[0][j]); --j) {
        std::swap(sizes_[j - 1], sizes_[j]);
        for (int op = 0; op < operand_count_; ++op) std::swap(strides_[op][j - 1], strides_[op][j]);
      }
    }
  }
  merge_dims();
  if (reorder && tiles == Tiles::OfBytes) split_long_rows();
  for (int op = 0; op < operand_count_; ++op) {
    dense_[op] = rank_ == 0 || (rank_ == 1 && (sizes_[0] <= 1 || strides_[op][0] == items_[op]));
    if (rank_ > 1) {
      int64_t expected = items_[op];
      dense_[op] = true;
      for (int i = rank_ - 1; i >= 0; --i) {
        dense_[op] = dense_[op] && strides_[op][i] == expected;
        expected *= sizes_[i];
      }
    }
  }
  choose_tile(tiles);
  find_plain_rows();
}

void ElementWalk::find_plain_rows() {
  constexpr int64_t kLeastBytes = 256;
  if (rank_ != 2 || sizes_[1] * items_[0] < kLeastBytes) return;
  has_plain_rows_ = strides_[0][1] == items_[0];
  for (int op = 1; op < operand_count_; ++op)
    has_plain_rows_ = has_plain_rows_ && (strides_[op][1] == items_[op] || strides_[op][1] == 0);
}

int64_t ElementWalk::dealt_rows() const {
  constexpr int64_t kMost = 127, kShortest = 8;
  int last = rank_ - 1;
  if (operand_count_ != 2 || last < 1 || sizes_[last] > kMost || sizes_[last - 1] < kShortest) return 0;
  int64_t item = items_[0];
  bool is_dealt = item == items_[1] && item <= 8 && strides_[0][last] == item &&
                  strides_[0][last - 1] == item * sizes_[last] && strides_[1][last - 1] == item;
  return is_dealt ? sizes_[last] : 0;
}

bool ElementWalk::has_short_rows() const {
  constexpr int64_t kMost = 16, kFewest = 32, kMostBytes = 64;
  int last = rank_ - 1;
  if (operand_count_ != 2 || last < 1 || sizes_[last] > kMost || sizes_[last - 1] < kFewest) return false;
  if (items_[0] != items_[1] || items_[0] > 8) return false;
  bool are_runs = strides_[0][last] == items_[0] && strides_[1][last] == items_[1];
  return !are_runs || sizes_[last] * items_[0] < kMostBytes;
}

ElementWalk ElementWalk::without_dealt_rows() const {
  ElementWalk rest = *this;
  rest.count_ /= sizes_[--rest.rank_];
  return rest;
}

// Rows that are too long for a panel are walked in stretches of equal length, one of all rows before the next one.
void ElementWalk::split_long_rows() {
  constexpr int64_t kLeast = 256;
  int last = rank_ - 1;
  if (last < 1 || rank_ == kMaxRank) return;
  int64_t length = sizes_[last], most = 0;
  for (int op = 0; op < operand_count_; ++op) most = std::max(most, RowPanel::most_columns(rows_across(op)));
  if (most == 0 || length <= most) return;
  int64_t count = ceil_div(length, most);
  while (length % count != 0 && length / count >= kLeast) ++count;
  if (length / count < kLeast) return;
  std::copy_backward(sizes_ + last - 1, sizes_ + rank_, sizes_ + rank_ + 1);
  sizes_[last - 1] = count;
  sizes_[rank_] = length / count;
  for (int op = 0; op < operand_count_; ++op) {
    int64_t* strides = strides_[op];
    std::copy_backward(strides + last - 1, strides + rank_, strides + rank_ + 1);
    strides[last - 1] = strides[rank_] * sizes_[rank_];
  }
  ++rank_;
}

// Tiles of bytes span short rows: copying such rows takes less than a tile of its own for each. Not where an operand is
// copied by panels. An element that an operand repeats in a whole row is a number for the loop if rows are long.
void ElementWalk::choose_tile(Tiles tiles) {
  MD_ASSERT(operand_count_ > 0 && operand_count_ <= kMaxOperands && rank_ <= kMaxRank);
  int64_t least_long = kTile / 4;
  tile_ = std::min(kTile, kTileBytes / *std::max_element(items_, items_ + operand_count_));
  if (tiles == Tiles::OfBytes) {
    tile_ = kTileBytes / *std::max_element(items_, items_ + operand_count_);
    bool is_any_across = false, is_any_repeated = false;
    for (int op = 0; op < operand_count_; ++op) {
      is_any_across |= RowPanel::suits(rows_across(op));
      is_any_repeated |= rank_ > 1 && strides_[op][rank_ - 1] == 0;
    }
    if (!is_any_across) least_long = is_any_repeated ? tile_ / 4 : tile_ / 2;
  }
  has_long_rows_ = rank_ > 1 && sizes_[rank_ - 1] >= least_long;
}

RowPanel::Rows ElementWalk::rows_across(int operand) const {
  int last = rank_ - 1;
  if (last < 1) return {};
  MD_ASSERT(last < kMaxRank);
  return {.item = items_[operand],
          .row_step = strides_[operand][last - 1],
          .step = strides_[operand][last],
          .rows = sizes_[last - 1],
          .columns = sizes_[last]};
}

// Drops dims of size one; merges a dim with the one inside it if every operand has a constant stride through both.
void ElementWalk::merge_dims() {
  int kept = 0;
  for (int i = 0; i < rank_; ++i) {
    if (sizes_[i] == 1) continue;
    bool joins = kept > 0;
    for (int op = 0; op < operand_count_ && joins; ++op) joins = strides_[op][kept - 1] == strides_[op][i] * sizes_[i];
    int into = joins ? kept - 1 : kept++;
    sizes_[into] = joins ? sizes_[into] * sizes_[i] : sizes_[i];
    for (int op = 0; op < operand_count_; ++op) strides_[op][into] = strides_[op][i];
  }
  rank_ = kept;
}

int64_t ElementWalk::tile_length(int64_t begin, int64_t end) const {
  int64_t wanted = std::min(tile_, end - begin);
  if (rank_ < 2) return wanted;
  int64_t row = sizes_[rank_ - 1];
  if (has_long_rows()) return std::min(wanted, row - begin % row);
  return tile_ > kTile && row < wanted ? wanted / row * row : wanted;
}

int64_t ElementWalk::offset(int operand, int64_t index) const {
  if (rank_ == 1) return index * strides_[operand][0];
  int64_t offset = 0;
  for (int i = rank_ - 1; i >= 0; --i) {
    offset += index % sizes_[i] * strides_[operand][i];
    index /= sizes_[i];
  }
  return offset;
}

bool ElementWalk::in_place(int operand, int64_t begin, int64_t n) const {
  if (dense_[operand]) return true;
  int64_t row = sizes_[rank_ - 1];
  return strides_[operand][rank_ - 1] == items_[operand] && begin % row + n <= row;
}

// Rows from the first element of one on, up to the end of the dim before the last, to contiguous memory at once where
// an operand repeats a row, or its rows are short and next to each other; how many were copied, or 0.
int64_t ElementWalk::copy_rows(int operand, const char* from, int64_t most, char* buffer) const {
  constexpr int64_t kFewest = 4, kLongest = 16;
  int last = rank_ - 1;
  if (last < 1 || most < kFewest) return 0;
  int64_t item = items_[operand], row = sizes_[last], bytes = row * item;
  int64_t step = strides_[operand][last], row_step = strides_[operand][last - 1];
  if (row_step == 0) {
    copy_items(item, from, step, buffer, item, row);
    for (int64_t done = 1; done < most; done *= 2)
      std::memcpy(buffer + done * bytes, buffer, static_cast<size_t>(std::min(done, most - done) * bytes));
    return most;
  }
  if (row_step != item || row > kLongest || item > 8) return 0;
  auto width = static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(item)));
  loops().lanes->deal[width](from, step, row, buffer, most);
  return most;
}

template <bool ToBuffer>
void ElementWalk::copy(int operand, char* data, int64_t begin, int64_t n, char* buffer) const {
  int64_t item = items_[operand];
  const int64_t* strides = strides_[operand];
  int last = rank_ - 1;
  int64_t row = sizes_[last];
  // Position in each dim, maintained like an odometer.
  int64_t position[kMaxRank];
  int64_t rest = begin;
  int64_t at = 0;
  for (int i = last; i >= 0; --i) {
    position[i] = rest % sizes_[i];
    at += position[i] * strides[i];
    rest /= sizes_[i];
  }
  while (n > 0) {
    int64_t length = std::min(n, row - position[last]);
    if constexpr (ToBuffer) {
      if (last > 0 && position[last] == 0) {
        int64_t most = std::min(n / row, sizes_[last - 1] - position[last - 1]);
        if (int64_t rows = copy_rows(operand, data + at, most, buffer); rows > 0) {
          buffer += rows * row * item;
          n -= rows * row;
          position[last - 1] += rows - 1;
          at += (rows - 1) * strides[last - 1];
          next_row(operand, position, at);
          continue;
        }
      }
      copy_items(item, data + at, strides[last], buffer, item, length);
    } else {
      copy_items(item, buffer, item, data + at, strides[last], length);
    }
    buffer += length * item;
    n -= length;
    at -= position[last] * strides[last];
    position[last] = 0;
    next_row(operand, position, at);
  }
}

void ElementWalk::next_row(int operand, int64_t* position, int64_t& at) const {
  for (int i = rank_ - 2; i >= 0; --i) {
    at += strides_[operand][i];
    if (++position[i] < sizes_[i]) return;
    at -= position[i] * strides_[operand][i];
    position[i] = 0;
  }
}

const void* ElementWalk::read(int operand, const void* data, int64_t begin, int64_t n, void* buffer) const {
  char* bytes = const_cast<char*>(static_cast<const char*>(data));
  if (dense_[operand]) return bytes + begin * items_[operand];
  if (in_place(operand, begin, n)) return bytes + offset(operand, begin);
  copy<true>(operand, bytes, begin, n, static_cast<char*>(buffer));
  return buffer;
}

void* ElementWalk::write_place(int operand, void* data, int64_t begin, int64_t n, void* buffer) const {
  char* bytes = static_cast<char*>(data);
  if (dense_[operand]) return bytes + begin * items_[operand];
  return in_place(operand, begin, n) ? bytes + offset(operand, begin) : buffer;
}

void ElementWalk::write_back(int operand, void* data, int64_t begin, int64_t n, const void* buffer) const {
  copy<false>(operand, static_cast<char*>(data), begin, n, const_cast<char*>(static_cast<const char*>(buffer)));
}

PanelReader::PanelReader(const ElementWalk& walk) : walk_(walk) {
  for (int op = 0; op < walk.operand_count_; ++op) {
    is_across_[op] = walk.has_long_rows() && RowPanel::suits(walk.rows_across(op));
    is_all_dense_ = is_all_dense_ && walk.is_dense(op);
    int outer = 0;
    while (outer < walk.rank_ && walk.strides_[op][outer] == 0) ++outer;
    int64_t period = 1;
    for (int i = outer; i < walk.rank_; ++i) period *= walk.sizes_[i];
    if (outer > 0) kept_[op].period = period;
  }
}

void PanelReader::seek(int64_t index) {
  int last = walk_.rank_ - 1;
  row_ = index / walk_.sizes_[last];
  column_ = index % walk_.sizes_[last];
  int64_t rest = row_;
  std::fill_n(row_starts_, walk_.operand_count_, int64_t{0});
  for (int i = last - 1; i >= 0; --i) {
    position_[i] = rest % walk_.sizes_[i];
    rest /= walk_.sizes_[i];
    for (int op = 0; op < walk_.operand_count_; ++op) row_starts_[op] += position_[i] * walk_.strides_[op][i];
  }
}

void PanelReader::next_row() {
  ++row_;
  column_ = 0;
  for (int i = walk_.rank_ - 2; i >= 0; --i) {
    for (int op = 0; op < walk_.operand_count_; ++op) row_starts_[op] += walk_.strides_[op][i];
    if (++position_[i] < walk_.sizes_[i]) return;
    for (int op = 0; op < walk_.operand_count_; ++op) row_starts_[op] -= position_[i] * walk_.strides_[op][i];
    position_[i] = 0;
  }
}

// Only where rows are long: each tile is inside a row then.
void PanelReader::move_to(int64_t index) {
  if (index == index_) return;
  int64_t column = column_ + index - index_;
  if (index_ < 0 || index < index_ || column > walk_.sizes_[walk_.rank_ - 1]) {
    seek(index);
  } else if (column == walk_.sizes_[walk_.rank_ - 1]) {
    next_row();
  } else {
    column_ = column;
  }
  index_ = index;
}

int64_t PanelReader::tile_length(int64_t begin, int64_t end) {
  end_ = end;
  if (is_all_dense_) return end - begin;
  if (!walk_.has_long_rows()) return walk_.tile_length(begin, end);
  move_to(begin);
  return std::min({walk_.tile_, end - begin, walk_.sizes_[walk_.rank_ - 1] - column_});
}

int64_t PanelReader::offset(int operand, int64_t index) {
  if (!walk_.has_long_rows()) return walk_.offset(operand, index);
  move_to(index);
  return row_starts_[operand] + column_ * walk_.strides_[operand][walk_.rank_ - 1];
}

const void* PanelReader::read_short_rows(int operand, const void* data, int64_t begin, int64_t n, void* buffer) {
  Kept& kept = kept_[operand];
  if (kept.period == 0) return walk_.read(operand, data, begin, n, buffer);
  int64_t phase = begin % kept.period;
  if (phase == kept.phase && n <= kept.length) return buffer;
  const void* elements = walk_.read(operand, data, begin, n, buffer);
  if (elements == buffer) kept = {kept.period, phase, n};
  return elements;
}

const void* PanelReader::read(int operand, const void* data, int64_t begin, int64_t n, void* buffer) {
  if (walk_.is_dense(operand)) return walk_.read(operand, data, begin, n, buffer);
  if (!walk_.has_long_rows()) return read_short_rows(operand, data, begin, n, buffer);
  move_to(begin);
  int64_t item = walk_.items_[operand], step = walk_.strides_[operand][walk_.rank_ - 1];
  const char* row = static_cast<const char*>(data) + row_starts_[operand];
  if (is_across_[operand]) {
    MD_ASSERT(walk_.rank_ > 1, "a panel of one row");
    int64_t place = position_[walk_.rank_ - 2];
    RowPanel::Rows rows = walk_.rows_across(operand);
    rows.rows = std::min(rows.rows, place + ceil_div(end_ - begin + column_, rows.columns));
    return panels_[operand].row(rows, row - place * item, place) + column_ * item;
  }
  const char* from = row + column_ * step;
  if (step == item) return from;
  copy_items(item, from, step, buffer, item, n);
  return buffer;
}

bool PanelReader::can_move(int from, int to) const {
  return walk_.has_long_rows() && walk_.items_[from] == walk_.items_[to] && !is_across_[from] && !is_across_[to];
}

void PanelReader::move(int from, const void* src, int to, void* dst, int64_t begin, int64_t n) {
  int last = walk_.rank_ - 1;
  copy_items(walk_.items_[from], static_cast<const char*>(src) + offset(from, begin), walk_.strides_[from][last],
             static_cast<char*>(dst) + offset(to, begin), walk_.strides_[to][last], n);
}

}  // namespace md
