#include "tensor/parallel/float_flags.h"

#include <xmmintrin.h>

namespace md {
namespace {

constexpr uint32_t kFlags =
    _MM_EXCEPT_INVALID | _MM_EXCEPT_DIV_ZERO | _MM_EXCEPT_OVERFLOW | _MM_EXCEPT_UNDERFLOW | _MM_EXCEPT_INEXACT;
thread_local FloatFlags* collection = nullptr;

}  // namespace

uint32_t float_flags_here() { return _mm_getcsr() & kFlags; }

void clear_float_flags_here() {
  // Writing the register takes longer than reading it.
  uint32_t word = _mm_getcsr();
  if ((word & kFlags) != 0) _mm_setcsr(word & ~kFlags);
}

void raise_float_flags_here(uint32_t flags) { _mm_setcsr(_mm_getcsr() | flags); }

FloatFlagsAside::FloatFlagsAside() : before_(float_flags_here()) {}
FloatFlagsAside::~FloatFlagsAside() {
  uint32_t word = _mm_getcsr();
  if ((word & kFlags) != before_) _mm_setcsr((word & ~kFlags) | before_);
}

FloatFlags::FloatFlags() {
  clear_float_flags_here();
  collection = this;
}
FloatFlags::~FloatFlags() { collection = nullptr; }
FloatFlags* FloatFlags::here() { return collection; }

}  // namespace md
