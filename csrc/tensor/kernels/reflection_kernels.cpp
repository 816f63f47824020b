// Householder reflections: what gives R, the first columns of their product, and the product with another matrix.
#include <algorithm>
#include <vector>

#include "tensor/matrices/reflections.h"
#include "tensor/matrices/stack.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

template <typename T>
class ColumnRoom {
 public:
  ColumnRoom(int64_t rows, int64_t columns) : memory_(static_cast<size_t>(rows * columns)) {
    block_ = Block<T>::of_columns(memory_.data(), rows, columns);
  }
  Block<T> copy_of(const Block<const T>& from) {
    copy_block(from, block_);
    return block_;
  }

 private:
  std::vector<T> memory_;
  Block<T> block_;
};

// run(matrix, index) for copies of a tensor's matrices whose columns are contiguous.
template <typename T, typename Run>
void for_columns(const Tensor& matrices, int64_t multiplications, const Run& run) {
  MatrixStack<const T> stack(matrices);
  int64_t elements = stack.rows() * stack.columns();
  for_matrices(stack.count(), multiplications, elements, [&](int64_t first, int64_t end) {
    ColumnRoom<T> room(stack.rows(), stack.columns());
    Reflections<T> reflections;
    for (int64_t i = first; i < end; ++i) run(reflections, room.copy_of(stack[i]), i);
  });
}

template <typename Run>
void with_real(const Tensor& tensor, const Run& run) {
  tensor->dtype() == DType::float64 ? run(double{}) : run(float{});
}

}  // namespace

void reflections_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& matrices = tensor_arg(call, 0);
  if (outs[0]->numel() == 0) return;
  int64_t rows = outs[0]->sizes()[outs[0]->rank() - 2], columns = outs[0]->sizes()[outs[0]->rank() - 1];
  int64_t steps = std::min(rows, columns);
  with_real(matrices, [&]<typename T>(T) {
    MatrixStack<T> to(outs[0]);
    for_columns<T>(matrices, 2 * rows * columns * steps, [&](Reflections<T>& reflections, Block<T> a, int64_t i) {
      reflections.factor(a, outs[1].data<T>() + i * steps);
      copy_block(read_only(a), to[i]);
    });
  });
}

void reflections_product_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& matrices = tensor_arg(call, 0);
  if (outs[0]->numel() == 0) return;
  Tensor taus = as_contiguous(tensor_arg(call, 1), outs[0]->dtype());
  int64_t count = taus->sizes()[taus->rank() - 1];
  with_real(matrices, [&]<typename T>(T) {
    MatrixStack<T> to(outs[0]);
    int64_t multiplications = 4 * to.rows() * to.columns() * count;
    for_columns<T>(matrices, multiplications, [&](Reflections<T>& reflections, Block<T> a, int64_t i) {
      reflections.product(read_only(a), taus.data<const T>() + i * count, count, to[i]);
    });
  });
}

void reflect_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& matrices = tensor_arg(call, 0);
  if (outs[0]->numel() == 0) return;
  copy_elements(tensor_arg(call, 2), outs[0]);
  Tensor taus = as_contiguous(tensor_arg(call, 1), outs[0]->dtype());
  int64_t count = taus->sizes()[taus->rank() - 1];
  bool turned = bool_arg(call, 3);
  with_real(matrices, [&]<typename T>(T) {
    MatrixStack<T> to(outs[0]);
    int64_t multiplications = 4 * to.rows() * to.columns() * count;
    for_columns<T>(matrices, multiplications, [&](Reflections<T>& reflections, Block<T> a, int64_t i) {
      reflections.apply(read_only(a), taus.data<const T>() + i * count, count, turned, to[i]);
    });
  });
}

}  // namespace md
