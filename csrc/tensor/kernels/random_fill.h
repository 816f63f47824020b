// Fills a tensor, in the order of its memory, with numbers that are made of the words that the generator hands out.
#pragma once
#include <algorithm>

#include "tensor/kernels/dim_slices.h"
#include "tensor/kernels/random.h"
#include "tensor/simd/loops.h"
#include "tensor/tensor.h"

namespace md {

// make(words, n, numbers) makes n numbers of words_each words each; they become elements of the dtype in memory.
template <typename T, typename Make>
void fill_from_words(DType dtype, char* out, int64_t count, int words_each, const Make& make) {
  constexpr int64_t kChunk = 1024;
  if (count == 0) return;
  constexpr DType kMade = std::is_same_v<T, bool> ? DType::bool_ : dtype_of<T>();
  alignas(64) uint32_t words[2 * kChunk];
  alignas(64) T numbers[kChunk];
  ConvertLoop convert = loops().convert[static_cast<int>(kMade)][static_cast<int>(dtype)];
  RandomDraws draws;
  for (int64_t first = 0; first < count; first += kChunk) {
    int64_t n = std::min(kChunk, count - first);
    draws.words(words, n * words_each);
    make(words, n, numbers);
    convert(numbers, out + static_cast<size_t>(first) * item_size(dtype), n);
  }
}

}  // namespace md
