// Strided iteration: presents operands of any layout as tiles of contiguous elements in one common order.
#pragma once
#include <cstdint>
#include <span>

#include "tensor/simd/row_panel.h"
#include "tensor/tensor.h"

namespace md {

// Copies n items of 1, 2, 4, 8 or 16 bytes, with byte strides; with a stride of 0 one item n times.
void copy_items(int64_t item, const void* from, int64_t src_step, void* to, int64_t dst_step, int64_t n);

// Several operands with one step, copied side by side in short tiles: their memory then comes as that of streams, which
// it does not for one after the other. For those for which are_picked_together() is true.
inline int64_t elements_together(int64_t item, size_t count) {
  constexpr int64_t kBytes = 8 * 1024, kElements = 64;  // of all operands; of which a tile is a multiple
  return kBytes / (item * static_cast<int64_t>(count)) / kElements * kElements;
}
bool are_picked_together(int64_t item, int64_t step, size_t count);
void pick_together(int64_t item, int64_t step, std::span<const char* const> from, std::span<char* const> to, int64_t n);

// The dims of an iteration space, ordered and merged so that the first operand's innermost dim comes last.
class ElementWalk {
 public:
  static constexpr int kMaxRank = 64;
  static constexpr int kMaxOperands = 4;
  static constexpr int64_t kTile = 512;  // elements
  static constexpr int64_t kTileBytes = kTile * 8, kMostItem = 16;
  enum class Tiles : uint8_t {
    OfElements,
    OfBytes
  };  // at most kTile elements, and kTileBytes of each operand, or as many of the latter as fit

  explicit ElementWalk(std::span<const int64_t> sizes);
  // Strides in elements over the space's dims.
  void add(size_t item_bytes, const int64_t* strides);
  // A tensor that broadcasts to the space.
  void add(const Tensor& tensor);
  // Call once after the last operand. reorder: false keeps the order of dims (row-major) and only merges.
  void finish(bool reorder = true, Tiles tiles = Tiles::OfElements);

  int64_t count() const { return count_; }
  // Whether the operand's elements are contiguous in iteration order.
  bool is_dense(int operand) const { return dense_[operand]; }
  // The longest run from `begin` on that makes a good tile: up to the end of the row if rows are long, else whole rows.
  int64_t tile_length(int64_t begin, int64_t end) const;

  // Elements [begin, begin + n) of an operand as contiguous memory: in place if they are
  // contiguous, else copied to the buffer.
  const void* read(int operand, const void* data, int64_t begin, int64_t n, void* buffer) const;
  // Where to write a tile: in place, or the buffer, which write_back() then scatters.
  void* write_place(int operand, void* data, int64_t begin, int64_t n, void* buffer) const;
  void write_back(int operand, void* data, int64_t begin, int64_t n, const void* buffer) const;
  // The byte offset of one element.
  int64_t offset(int operand, int64_t index) const;
  // Whether each tile lies inside a row, in all of which the operand has the same element.
  bool repeats_in_rows(int operand) const { return has_long_rows() && strides_[operand][rank_ - 1] == 0; }

  // Whether the elements lie in long rows in which each operand has consecutive elements, or repeats one; the first
  // operand repeats none.
  bool has_plain_rows() const { return has_plain_rows_; }
  bool repeats_in_plain_rows(int operand) const { return strides_[operand][rank_ - 1] == 0; }
  // Of a space that is one row: the bytes from one of the operand's elements to the next; 0 for other spaces.
  int64_t single_step(int operand) const { return rank_ == 1 ? strides_[operand][0] : 0; }
  // Of a copy from the second operand to the first: how many rows of one are dealt out to the elements of a row of the
  // other, if these are few; else 0. Their step in bytes; and the space that is left, a row of which is dealt.
  int64_t dealt_rows() const;
  int64_t dealt_step() const { return strides_[1][rank_ - 1]; }
  ElementWalk without_dealt_rows() const;
  // Whether rows have so few elements that they are copied as columns; without_dealt_rows() then is the first of these.
  bool has_short_rows() const;
  int64_t row_length() const { return sizes_[rank_ - 1]; }
  int64_t last_step(int operand) const { return strides_[operand][rank_ - 1]; }  // in bytes
  int64_t row_step(int operand) const { return strides_[operand][0]; }           // in bytes, of plain rows

 private:
  friend class PanelReader;
  bool has_long_rows() const { return has_long_rows_; }
  bool in_place(int operand, int64_t begin, int64_t n) const;
  void merge_dims();
  void split_long_rows();
  void choose_tile(Tiles tiles);
  void find_plain_rows();
  RowPanel::Rows rows_across(int operand) const;
  int64_t copy_rows(int operand, const char* from, int64_t most, char* buffer) const;
  void next_row(int operand, int64_t* position, int64_t& at) const;
  template <bool ToBuffer>
  void copy(int operand, char* data, int64_t begin, int64_t n, char* buffer) const;

  int rank_;
  int operand_count_ = 0;
  int64_t count_ = 1;
  int64_t sizes_[kMaxRank];
  int64_t strides_[kMaxOperands][kMaxRank];  // in bytes
  int64_t items_[kMaxOperands];
  bool dense_[kMaxOperands] = {};
  int64_t tile_ = kTile;
  bool has_long_rows_ = false, has_plain_rows_ = false;
};

// Reads tiles as ElementWalk does, for one thread that goes from the first to the last, without a division for each.
// Each operand has a buffer of its own, the same one in each call: what it holds is not copied again. Of an operand
// that is contiguous across the rows several rows are copied at once.
class PanelReader {
 public:
  explicit PanelReader(const ElementWalk& walk);
  int64_t tile_length(int64_t begin, int64_t end);
  // A tile of the last tile_length().
  const void* read(int operand, const void* data, int64_t begin, int64_t n, void* buffer);
  // The byte offset of one element.
  int64_t offset(int operand, int64_t index);
  // Whether what read() has copied of the operand is read again.
  bool keeps(int operand) const { return is_across_[operand] || kept_[operand].period > 0; }
  // Whether tiles can be copied from one operand to another without a buffer.
  bool can_move(int from, int to) const;
  // Copies a tile of the last tile_length() as bytes.
  void move(int from, const void* src, int to, void* dst, int64_t begin, int64_t n);

 private:
  void move_to(int64_t index);
  void seek(int64_t index);
  void next_row();
  const void* read_short_rows(int operand, const void* data, int64_t begin, int64_t n, void* buffer);

  struct Kept {
    int64_t period = 0;  // elements after which the operand repeats itself; 0: it does not
    int64_t phase = -1, length = 0;
  };

  const ElementWalk& walk_;
  bool is_across_[ElementWalk::kMaxOperands] = {};
  bool is_all_dense_ = true;
  RowPanel panels_[ElementWalk::kMaxOperands];
  Kept kept_[ElementWalk::kMaxOperands];  // in the buffers
  // The position in the elements, if the rows are long; index_ is -1 before the first tile.
  int64_t index_ = -1, row_ = 0, column_ = 0, end_ = 0;
  int64_t position_[ElementWalk::kMaxRank] = {};        // in all dims but the last
  int64_t row_starts_[ElementWalk::kMaxOperands] = {};  // in bytes
};

}  // namespace md
