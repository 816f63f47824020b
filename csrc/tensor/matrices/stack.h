// The matrices of a tensor: its last two dims.
#pragma once
#include "tensor/matrices/block.h"
#include "tensor/parallel/threads.h"
#include "tensor/tensor.h"

namespace md {

template <typename T>
class MatrixStack {
 public:
  explicit MatrixStack(const Tensor& tensor) : tensor_(tensor), leading_(tensor->rank() - 2) {
    for (int d = 0; d < leading_; ++d) count_ *= tensor->sizes()[d];
  }

  int64_t count() const { return count_; }
  int64_t rows() const { return tensor_->sizes()[leading_]; }
  int64_t columns() const { return tensor_->sizes()[leading_ + 1]; }
  // In row-major order of the leading dims.
  Block<T> operator[](int64_t index) const {
    const int64_t *sizes = tensor_->sizes(), *strides = tensor_->strides();
    int64_t offset = 0;
    for (int d = leading_ - 1; d > 0; --d) {
      offset += index % sizes[d] * strides[d];
      index /= sizes[d];
    }
    if (leading_ > 0) offset += index * strides[0];
    return {tensor_.data<T>() + offset, rows(), columns(), strides[leading_], strides[leading_ + 1]};
  }

 private:
  const Tensor& tensor_;
  int leading_;
  int64_t count_ = 1;
};

// Calls body(first, end) for ranges of `count` matrices; multiplications and elements: of each.
template <typename Body>
void for_matrices(int64_t count, int64_t multiplications, int64_t elements, const Body& body) {
  constexpr double kPerNs = 8, kCallNs = 60;
  parallel_for(count, static_cast<double>(multiplications) / kPerNs + static_cast<double>(elements) + kCallNs, body);
}

}  // namespace md
