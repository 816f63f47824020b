// The loops of Fourier transforms, which exist once per instruction-set level: many transforms at once, one in each
// lane of the level's vectors.
#pragma once
#include <cstdint>
#include <type_traits>

namespace md {

// A tile has points of `lanes` numbers; real and imaginary parts are apart.

// One step of Stockham's algorithm: point q + done * (p + rest * k) of the first tile for k < radix becomes, turned by
// turns[p], point q + done * (radix * p + j) of the second; q < done, p < rest.
template <typename T>
struct FourierPass {
  int64_t radix, rest, done;
  const T* turns;  // (rest, radix - 1) complex numbers
  const T*
      roots;  // radix complex numbers, the powers of the first root of 1; of those without a butterfly of their own
};

// Numbers of `count` transforms in memory: part `re` of point k of one is at its start + k * step, and the imaginary
// part `other` numbers behind it.
struct FourierPlaces {
  const int64_t* starts;
  int64_t count, step, other;
};

constexpr int64_t kMostFourierRadix = 31;

template <typename T>
struct FourierLoops {
  int64_t lanes;
  // Lanes beyond the count repeat the last one or are 0. other is 0 for real numbers: im becomes 0.
  void (*load)(const T* src, const FourierPlaces& places, int64_t points, T* re, T* im);
  // Only the real part where other is 0.
  void (*store)(const T* re, const T* im, const FourierPlaces& places, int64_t points, T scale, T* dst);
  void (*pass)(const FourierPass<T>& pass, const T* re, const T* im, T* to_re, T* to_im);
  // Each point times a complex number.
  void (*turn_points)(const T* turns, int64_t points, T* re, T* im);
  // Each number of point k times that of factors at k * step.
  void (*turn_lanes)(const T* re_factors, const T* im_factors, int64_t step, int64_t points, T* re, T* im);
  // Of the transforms of pairs of real numbers, `half` points, those of the real numbers, half + 1 points; and back.
  // turns: half + 1 powers of the first root of 1 of degree 2 * half.
  void (*apart)(const T* turns, int64_t half, const T* re, const T* im, T* to_re, T* to_im);
  void (*together)(const T* turns, int64_t half, const T* re, const T* im, T* to_re, T* to_im);
};

struct FourierTable {
  FourierLoops<float> f32;
  FourierLoops<double> f64;

  template <typename T>
  const FourierLoops<T>& of() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else {
      return f64;
    }
  }
};

}  // namespace md
