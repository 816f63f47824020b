// Strided iteration: presents operands of any layout as tiles of contiguous elements in one common order.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "tensor/tensor.h"

namespace md {

// Copies n items of 1, 2, 4 or 8 bytes, with byte strides.
void copy_items(int64_t item, const void* from, int64_t src_step, void* to, int64_t dst_step, int64_t n);

// The dims of an iteration space, ordered and merged so that the first operand's innermost dim comes last.
class ElementWalk {
 public:
  static constexpr int kMaxRank = 64;
  static constexpr int kMaxOperands = 4;
  static constexpr int64_t kTile = 512;  // elements
  static constexpr int64_t kTileBytes = kTile * 8;

  explicit ElementWalk(std::span<const int64_t> sizes);
  // Strides in elements over the space's dims.
  void add(size_t item_bytes, const int64_t* strides);
  // A tensor that broadcasts to the space.
  void add(const Tensor& tensor);
  // Call once after the last operand. reorder: false keeps the order of dims (row-major) and only merges.
  void finish(bool reorder = true);

  int64_t count() const { return count_; }
  // Whether the operand's elements are contiguous in iteration order.
  bool is_dense(int operand) const { return dense_[operand]; }
  // The longest run from `begin` on that makes a good tile: up to the end of the row if rows are long.
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

 private:
  friend class PanelReader;
  bool has_long_rows() const { return rank_ > 1 && sizes_[rank_ - 1] >= kTile / 4; }
  bool in_place(int operand, int64_t begin, int64_t n) const;
  void merge_dims();
  template <bool ToBuffer>
  void copy(int operand, char* data, int64_t begin, int64_t n, char* buffer) const;

  int rank_;
  int operand_count_ = 0;
  int64_t count_ = 1;
  int64_t sizes_[kMaxRank];
  int64_t strides_[kMaxOperands][kMaxRank];  // in bytes
  int64_t items_[kMaxOperands];
  bool dense_[kMaxOperands] = {};
};

// Reads tiles as ElementWalk does, for one thread that goes from the first to the last, without a division for each. Of
// an operand that is contiguous across the rows it copies several rows at once, so that a cache line is read once for
// all of them.
class PanelReader {
 public:
  explicit PanelReader(const ElementWalk& walk);
  int64_t tile_length(int64_t begin, int64_t end);
  const void* read(int operand, const void* data, int64_t begin, int64_t n, void* buffer);
  // The byte offset of one element.
  int64_t offset(int operand, int64_t index);

 private:
  static constexpr int64_t kRows = 16, kMostBytes = 256 * 1024;  // of a panel, in the second level of cache
  struct Panel {
    std::unique_ptr<char[]> bytes;
    int64_t first = 0, rows = 0;
  };
  bool is_across(int operand) const;
  int64_t pitch(int operand) const;
  void fill(int operand, const char* data, Panel& panel) const;
  const void* read_panel(int operand, const void* data);
  void move_to(int64_t index);
  void seek(int64_t index);
  void next_row();

  const ElementWalk& walk_;
  bool is_across_[ElementWalk::kMaxOperands] = {};
  Panel panels_[ElementWalk::kMaxOperands];
  // Where the walk is, if its rows are long; index_ is -1 before the first tile.
  int64_t index_ = -1, row_ = 0, column_ = 0;
  int64_t position_[ElementWalk::kMaxRank] = {};        // in all dims but the last
  int64_t row_starts_[ElementWalk::kMaxOperands] = {};  // in bytes
};

}  // namespace md
