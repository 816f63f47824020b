// Declares the C library functions that have vector forms (libmvec), so that loops calling them vectorise without
// -ffast-math. Include before code for a particular instruction set.
#pragma once
#include <math.h>

#if defined(__x86_64__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 35) && !defined(__clang__)
#define MD_VECTOR_MATH 1
#define MD_VECTOR_FUNCTION(name)                                             \
  __attribute__((simd("notinbranch"), const)) float name##f(float) noexcept; \
  __attribute__((simd("notinbranch"), const)) double name(double) noexcept;
#define MD_VECTOR_FUNCTION2(name)                                                   \
  __attribute__((simd("notinbranch"), const)) float name##f(float, float) noexcept; \
  __attribute__((simd("notinbranch"), const)) double name(double, double) noexcept;
extern "C" {
MD_VECTOR_FUNCTION(exp)
MD_VECTOR_FUNCTION(exp2)
MD_VECTOR_FUNCTION(expm1)
MD_VECTOR_FUNCTION(log)
MD_VECTOR_FUNCTION(log2)
MD_VECTOR_FUNCTION(log10)
MD_VECTOR_FUNCTION(log1p)
MD_VECTOR_FUNCTION(sin)
MD_VECTOR_FUNCTION(cos)
MD_VECTOR_FUNCTION(tan)
MD_VECTOR_FUNCTION(asin)
MD_VECTOR_FUNCTION(acos)
MD_VECTOR_FUNCTION(atan)
MD_VECTOR_FUNCTION(sinh)
MD_VECTOR_FUNCTION(cosh)
MD_VECTOR_FUNCTION(tanh)
MD_VECTOR_FUNCTION(erf)
MD_VECTOR_FUNCTION(erfc)
MD_VECTOR_FUNCTION(asinh)
MD_VECTOR_FUNCTION(acosh)
MD_VECTOR_FUNCTION(atanh)
MD_VECTOR_FUNCTION2(pow)
MD_VECTOR_FUNCTION2(atan2)
MD_VECTOR_FUNCTION2(hypot)
}
#undef MD_VECTOR_FUNCTION
#undef MD_VECTOR_FUNCTION2
#define MD_VECTOR_ATTRIBUTE __attribute__((simd("notinbranch"), const))
#else
#define MD_VECTOR_ATTRIBUTE __attribute__((const))
#endif

// By other names: of sin and cos of one number GCC makes one call, which has no vector form.
extern "C" {
MD_VECTOR_ATTRIBUTE double md_lone_sin(double) noexcept __asm__("sin");
MD_VECTOR_ATTRIBUTE double md_lone_cos(double) noexcept __asm__("cos");
}
#undef MD_VECTOR_ATTRIBUTE
