// Reductions over any layout: splits the input's dims into kept and reduced ones.
#pragma once
#include <vector>

#include "tensor/ops/op_row.h"
#include "tensor/simd/element_walk.h"

namespace md {

// Rows added up sequentially; more are added in parts.
inline constexpr int64_t kMostRowsInOneSum = 64;

class ReductionSpace {
 public:
  // The elements of a result, in row-major order of the reduced dims or as they follow each other in memory.
  enum class Order : uint8_t { RowMajor, OfMemory };
  ReductionSpace(const Tensor& input, const std::vector<bool>& reduced, Order order = Order::RowMajor);

  const Tensor& input() const { return *input_; }
  int64_t results() const { return results_; }       // elements of the output, in row-major order of the kept dims
  int64_t length() const { return inner_.count(); }  // elements per result
  const char* result_data(int64_t result) const;     // the first of them
  const ElementWalk& inner() const { return inner_; }

  // The size of the innermost kept dim if it is contiguous and its remaining layout is
  // the same for each result, else 0.
  int64_t columns() const { return columns_; }

 private:
  const Tensor* input_;
  int64_t results_;
  ElementWalk outer_, inner_;
  int64_t columns_ = 0;
};

}  // namespace md
