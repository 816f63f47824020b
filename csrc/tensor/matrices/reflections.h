// QR decompositions by blocks of Householder reflections.
#pragma once
#include <vector>

#include "tensor/matrices/block.h"

namespace md {

// Keeps its memory for matrices of equal sizes. T: float or double.
template <typename T>
class Reflections {
 public:
  // R on and above the diagonal of a, whose columns are contiguous; below it the vectors of the reflections, with a
  // factor in taus for each of the lesser of rows and columns.
  void factor(const Block<T>& a, T* taus);
  // q = the first columns of the product of the reflections in a.
  void product(const Block<const T>& a, const T* taus, int64_t count, const Block<T>& q);
  // c = the product's transpose @ c, or the product @ c.
  void apply(const Block<const T>& a, const T* taus, int64_t count, bool turned, const Block<T>& c);

 private:
  void gather(const Block<const T>& vectors, const T* taus);
  void reflect(const Block<T>& c, bool turned);

  int64_t rows_ = 0, width_ = 0;  // of the gathered reflections
  std::vector<T> vectors_, triangle_, products_, scaled_;
};

}  // namespace md
