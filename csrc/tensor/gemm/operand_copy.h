// Dense copies of strided operands in another dtype.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/simd/loops.h"

namespace md {

// Lines of elements; their copies follow each other.
struct OperandCopy {
  int64_t matrices = 1, lines = 1, length = 0;
  int64_t matrix_stride = 0, line_stride = 0;

  // Also sets the strides of the copy, in which a matrix repeated with stride 0 is there once.
  static OperandCopy of_matrices(int64_t batch, int64_t rows, int64_t columns, std::array<int64_t, 3>& strides) {
    bool by_rows = strides[2] == 1 || columns == 1;
    OperandCopy copy = {.matrices = strides[0] == 0 ? 1 : batch,
                        .lines = by_rows ? rows : columns,
                        .length = by_rows ? columns : rows,
                        .matrix_stride = strides[0],
                        .line_stride = by_rows ? strides[1] : strides[2]};
    int64_t apart = copy.matrix_stride == 0 ? 0 : rows * columns;
    strides = by_rows ? std::array<int64_t, 3>{apart, columns, 1} : std::array<int64_t, 3>{apart, 1, rows};
    return copy;
  }

  int64_t numel() const { return matrices * lines * length; }

  // f(first element of a line, first element of its copy)
  template <typename F>
  void for_each_line(const F& f) const {
    int64_t dense = 0;
    for (int64_t matrix = 0; matrix < matrices; ++matrix) {
      for (int64_t line = 0; line < lines; ++line, dense += length)
        f(matrix * matrix_stride + line * line_stride, dense);
    }
  }
  void convert(DType from, const void* strided, DType to, void* dense) const {
    ConvertLoop loop = loops().convert[static_cast<int>(from)][static_cast<int>(to)];
    for_each_line([&](int64_t at, int64_t dense_at) {
      loop(element(from, strided, at), const_cast<std::byte*>(element(to, dense, dense_at)), length);
    });
  }
  void convert_back(DType from, const void* dense, DType to, void* strided) const {
    ConvertLoop loop = loops().convert[static_cast<int>(from)][static_cast<int>(to)];
    for_each_line([&](int64_t at, int64_t dense_at) {
      loop(element(from, dense, dense_at), const_cast<std::byte*>(element(to, strided, at)), length);
    });
  }

 private:
  static const std::byte* element(DType dtype, const void* data, int64_t index) {
    return static_cast<const std::byte*>(data) + index * static_cast<int64_t>(item_size(dtype));
  }
};

}  // namespace md
