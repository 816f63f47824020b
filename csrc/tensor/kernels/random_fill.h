// Fills a tensor, in the order of its memory, with numbers that are made of the words that the generator hands out.
#pragma once
#include <algorithm>

#include "tensor/kernels/dim_slices.h"
#include "tensor/kernels/random.h"
#include "tensor/simd/loops.h"
#include "tensor/tensor.h"

namespace md {

inline constexpr int64_t kRandomPart = 1024;

// use(words, first, n) for parts of `count` numbers of words_each words each, in order.
template <typename Use>
void for_parts_of_words(RandomDraws& draws, int64_t count, int words_each, const Use& use) {
  alignas(64) uint32_t words[2 * kRandomPart];
  for (int64_t first = 0; first < count; first += kRandomPart) {
    int64_t n = std::min(kRandomPart, count - first);
    draws.words(words, n * words_each);
    use(words, first, n);
  }
}

// make(words, n, numbers) makes n numbers of words_each words each; they become elements of the dtype in memory.
template <typename T, typename Make>
void fill_from_words(DType dtype, char* out, int64_t count, int words_each, const Make& make) {
  if (count == 0) return;
  constexpr DType kMade = std::is_same_v<T, bool> ? DType::bool_ : dtype_of<T>();
  alignas(64) T numbers[kRandomPart];
  ConvertLoop convert = loops().convert[static_cast<int>(kMade)][static_cast<int>(dtype)];
  RandomDraws draws;
  for_parts_of_words(draws, count, words_each, [&](const uint32_t* words, int64_t first, int64_t n) {
    make(words, n, numbers);
    convert(numbers, out + static_cast<size_t>(first) * item_size(dtype), n);
  });
}

}  // namespace md
