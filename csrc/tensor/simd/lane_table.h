// Loops of kernels that compute many results side by side, which exist once per instruction-set level.
#pragma once
#include <cstdint>
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

template <typename T>
struct LaneLoops {
  // Of n channels of `pixels` pixels, `step` elements apart, what is larger than values stays, a NaN always; with its
  // place.
  void (*keep_larger)(const T* src, int64_t step, int64_t pixels, int64_t n, PixelPlaces at, T* values,
                      int32_t* places);
  // Of (pixels, channels) numbers and their places the columns, as rows that are `step` elements apart.
  void (*turn_pixels)(const T* values, const int32_t* places, int64_t channels, int64_t pixels, int64_t step, T* dst,
                      int64_t* dst_places);
  // From [-1, 1], `step` elements apart, to pixels; inside() then treats those outside as the padding says.
  void (*pixels)(const T* grid, int64_t step, const SampleDim& dim, int64_t n, T* places);
  void (*inside)(const SampleDim& dim, int64_t n, T* places);
  // The pixel below, or the nearest one.
  void (*wholes)(const T* places, bool nearest, int64_t n, T* wholes);
  // offsets[i] * size + the integer wholes[i] + shift, -1 where that is outside or the offset is -1 already.
  void (*offsets)(const T* wholes, T shift, int64_t size, int64_t n, int32_t* offsets);
  // dst[i] = the sum over k of weights[k * n + i] * plane[offsets[k * n + i]]; nothing for the offset -1.
  void (*taps)(const T* plane, const int32_t* offsets, const T* weights, int64_t taps, int64_t n, T* dst);
  // dst[k * n + j] = the norm of the difference of rows i + k and first + j, for kPairRows rows.
  void (*pair_norms)(const PairRows<T>& rows, PairNorm norm, int64_t i, int64_t first, int64_t n, T* dst);
};

struct LaneTable {
  LaneLoops<float> f32;
  LaneLoops<double> f64;

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
