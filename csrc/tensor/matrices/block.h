// A matrix, or a part of one, in memory with strides.
#pragma once
#include <cstdint>

namespace md {

template <typename T>
struct Block {
  T* data;
  int64_t rows, columns;
  int64_t row, step;  // strides in elements: from row to row, from column to column

  T& at(int64_t i, int64_t j) const { return data[i * row + j * step]; }
  Block part(int64_t i, int64_t j, int64_t height, int64_t width) const {
    return {data + i * row + j * step, height, width, row, step};
  }
  Block turned() const { return {data, columns, rows, step, row}; }
  // Of memory with contiguous columns.
  static Block of_columns(T* data, int64_t rows, int64_t columns) { return {data, rows, columns, 1, rows}; }
};

template <typename T>
Block<const T> read_only(const Block<T>& block) {
  return {block.data, block.rows, block.columns, block.row, block.step};
}

// Elements of the one to the other, which is not in the same memory.
template <typename T>
void copy_block(const Block<const T>& from, const Block<T>& to) {
  // Squares of this size lie in the L1 cache, however either is laid out.
  constexpr int64_t kSide = 16;
  for (int64_t j = 0; j < to.columns; j += kSide) {
    int64_t width = to.columns - j < kSide ? to.columns - j : kSide;
    for (int64_t i = 0; i < to.rows; i += kSide) {
      int64_t height = to.rows - i < kSide ? to.rows - i : kSide;
      for (int64_t x = j; x < j + width; ++x) {
        for (int64_t y = i; y < i + height; ++y) to.at(y, x) = from.at(y, x);
      }
    }
  }
}

}  // namespace md
