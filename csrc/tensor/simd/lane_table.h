// Loops of kernels that compute many results side by side, which exist once per instruction-set level.
#pragma once
#include <cstdint>
#include <span>
#include <type_traits>

namespace md {

enum class SamplePadding : uint8_t { Zeros, Border, Reflection };

// One dim of an image that is sampled.
struct SampleDim {
  int64_t size;
  bool align_corners;
  SamplePadding padding;
};

enum class PairNorm : uint8_t { Count, Sum, Root, Largest };  // p = 0, 1, 2, infinity

struct PixelPlaces {
  int32_t first, step;
};

// The rows of a matrix whose columns are contiguous, `step` elements apart.
template <typename T>
struct PairRows {
  const T* columns;
  int64_t step, width;
};
inline constexpr int64_t kPairRows = 4;  // at once

// The places of a window's elements at src, in rising order; those of the next one are `step` elements further.
template <typename T>
struct WindowRow {
  const T* src;
  const int64_t* places;
  int64_t count, step;
  int64_t readable;  // elements at src, of which vectors may read more than windows have
};

// `count` windows that are `step` apart, of `kernel` elements that are `dilation` apart.
struct WindowsOfRow {
  int64_t count, kernel, step, dilation;
};

template <typename T>
struct LaneLoops {
  // Of n windows the largest elements and their places: the first of equal ones, the last NaN. Places fit 32 bits.
  void (*largest_of_windows)(const WindowRow<T>& row, int64_t n, T* values, int64_t* places);
  void (*largest_values_of_windows)(const WindowRow<T>& row, int64_t n, T* values);
  // Of the windows of a row, which begins with its padding, the largest elements, the first of equal ones and the last
  // NaN. Whole vectors are read and written.
  void (*largest_by_columns)(const T* row, const WindowsOfRow& windows, T* values);
  // values[i] = the largest of rows[k][i], likewise. Whole vectors are read, and written as long as they end before
  // `last`.
  void (*largest_of_rows)(std::span<const T* const> rows, int64_t n, const T* last, T* values);
  // Of the windows that rows begin with, the sums of the elements, row by row, divided each by its divisor. Whole
  // vectors as above; divisors are whole vectors.
  void (*means_of_rows)(std::span<const T* const> rows, const WindowsOfRow& windows, const T* divisors, const T* last,
                        T* means);
  // Of n windows the sums of the elements one after the other, divided.
  void (*means_of_windows)(const WindowRow<T>& row, int64_t n, T divisor, T* means);
  // Of n channels of `pixels` pixels, `step` elements apart, what is larger than values stays, a NaN always; with its
  // place.
  void (*keep_larger)(const T* src, int64_t step, int64_t pixels, int64_t n, PixelPlaces at, T* values,
                      int32_t* places);
  // Of (pixels, channels) numbers and their places the columns, as rows that are `step` elements apart.
  void (*turn_pixels)(const T* values, const int32_t* places, int64_t channels, int64_t pixels, int64_t step, T* dst,
                      int64_t* dst_places);
  // The columns of (rows, columns) numbers, as rows that are `step` elements apart.
  void (*turn_columns)(const T* src, int64_t columns, int64_t rows, int64_t step, T* dst);
  // From [-1, 1], `step` elements apart, to pixels; inside() then treats those outside as the padding says.
  void (*pixels)(const T* grid, int64_t step, const SampleDim& dim, int64_t n, T* places);
  void (*inside)(const SampleDim& dim, int64_t n, T* places);
  // The pixel below, or the nearest one.
  void (*wholes)(const T* places, bool nearest, int64_t n, T* wholes);
  // offsets[i] * size + the integer wholes[i] + shift, -1 where that is outside or the offset is -1 already.
  void (*offsets)(const T* wholes, T shift, int64_t size, int64_t n, int32_t* offsets);
  // dst[i] = the sum over k of weights[k * n + i] * plane[offsets[k * n + i]]; nothing for the offset -1. 1, 2,
  // or a multiple of 4 taps.
  void (*taps)(const T* plane, const int32_t* offsets, const T* weights, int64_t taps, int64_t n, T* dst);
  // dst[i] = the sum over k of weights[k] * rows[k][i]; 2 or 4 taps.
  void (*weigh_rows)(const T* const* rows, const T* weights, int64_t taps, int64_t n, T* dst);
  // to[i] = logs[i] + the logarithm of the sum of the exponentials of from[i], from[i - 1], and, where skips[i] is 0,
  // from[i - 2]; else it is -infinity.
  void (*follow_states)(const T* from, const T* skips, const T* logs, int64_t n, T* to);
  // dst[k * n + j] = the norm of the difference of rows i + k and first + j, for kPairRows rows.
  void (*pair_norms)(const PairRows<T>& rows, PairNorm norm, int64_t i, int64_t first, int64_t n, T* dst);
};

// dst[i * count + k] = src[k][i], for rows of n words that are `step` bytes apart.
using DealLoop = void (*)(const char* src, int64_t step, int64_t count, char* dst, int64_t n);

struct LaneTable {
  LaneLoops<float> f32;
  LaneLoops<double> f64;
  DealLoop deal[4];  // words of 1, 2, 4, 8 bytes

  template <typename T>
  const LaneLoops<T>& of() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else {
      return f64;
    }
  }
};

}  // namespace md
