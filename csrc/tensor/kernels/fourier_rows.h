// Fourier transforms of complex numbers along lines of memory, unscaled but for a given factor.
#pragma once
#include <cstdint>
#include <memory>

namespace md {

// Number k has its real part at data[k * step], its imaginary part `other` behind it.
template <typename T>
struct FourierRow {
  T* data;
  int64_t step, other;
};

// One row, which threads share if it is long; from and to may be the same.
template <typename T>
void transform_row(FourierRow<const T> from, FourierRow<T> to, int64_t n, T scale, bool inverse);

// Rows of one size, one after the other by one thread, which keeps its memory.
template <typename T>
class FourierRows {
 public:
  explicit FourierRows(int64_t n);
  ~FourierRows();
  void run(FourierRow<const T> from, FourierRow<T> to, T scale, bool inverse);

 private:
  struct Split;
  int64_t n_;
  std::unique_ptr<Split> split_;  // null: as transform_row()
};

}  // namespace md
