// Arithmetic of complex numbers whose parts are finite: infinities may become NaN.
#pragma once
#include <cmath>

#include "tensor/dtype.h"

namespace md {

template <typename P>
Complex<P> operator-(const Complex<P>& a, const Complex<P>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename P>
Complex<P> operator*(const Complex<P>& a, const Complex<P>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <typename P>
Complex<P> conjugate(const Complex<P>& a) {
  return {a.re, -a.im};
}
// Scaled by the larger part, so that squares do not overflow.
template <typename P>
Complex<P> operator/(const Complex<P>& a, const Complex<P>& b) {
  if (std::abs(b.re) >= std::abs(b.im)) {
    P ratio = b.im / b.re, scale = b.re + b.im * ratio;
    return {(a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale};
  }
  P ratio = b.re / b.im, scale = b.re * ratio + b.im;
  return {(a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale};
}

// By which pivots are chosen, as LAPACK's.
template <typename P>
P size_of_parts(const Complex<P>& a) {
  return std::abs(a.re) + std::abs(a.im);
}

}  // namespace md
