// Elements as words of their size, for what only moves them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace md {

// Returns run(Word{}) with a word as long as an element.
template <typename Run>
decltype(auto) with_word(size_t item, const Run& run) {
  switch (item) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    case 8:
      return run(uint64_t{});
    default:
      return run(Complex<double>{});
  }
}

}  // namespace md
