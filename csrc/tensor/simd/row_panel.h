// Rows of a matrix that is contiguous across them.
#pragma once
#include <cstdint>
#include <memory>

namespace md {

// Copies several rows at once: each cache line is read for all of them. One thread's.
class RowPanel {
 public:
  // Strides in bytes: from row to row, and from element to element of a row.
  struct Rows {
    int64_t item = 0, row_step = 0, step = 0, rows = 0, columns = 0;
  };
  static bool suits(const Rows& rows);
  // The most columns of rows that suit, if these do but for their length; else 0.
  static int64_t most_columns(const Rows& rows);
  // Row `place` of `rows`, whose first element is at `first`, as contiguous elements. Valid until the next call.
  const char* row(const Rows& rows, const char* first, int64_t place);

 private:
  std::unique_ptr<char[]> bytes_;
  const char* first_ = nullptr;
  int64_t begin_ = 0, end_ = 0;  // the rows it holds
};

}  // namespace md
