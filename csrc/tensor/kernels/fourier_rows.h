// Fourier transforms of complex numbers along lines of memory, unscaled but for a given factor.
#pragma once
#include <cstdint>

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

}  // namespace md
