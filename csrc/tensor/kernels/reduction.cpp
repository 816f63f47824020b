#include "tensor/kernels/reduction.h"

namespace md {
namespace {

std::vector<int64_t> sizes_where(const Tensor& input, const std::vector<bool>& reduced, bool wanted) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < input->rank(); ++i) {
    if (reduced[static_cast<size_t>(i)] == wanted) sizes.push_back(input->sizes()[i]);
  }
  return sizes;
}

ElementWalk walk_over(const Tensor& input, const std::vector<bool>& reduced, bool wanted, bool in_memory_order) {
  std::vector<int64_t> strides;
  for (int i = 0; i < input->rank(); ++i) {
    if (reduced[static_cast<size_t>(i)] == wanted) strides.push_back(input->strides()[i]);
  }
  ElementWalk walk(sizes_where(input, reduced, wanted));
  walk.add(item_size(input->dtype()), strides.data());
  walk.finish(in_memory_order);
  return walk;
}

}  // namespace

ReductionSpace::ReductionSpace(const Tensor& input, const std::vector<bool>& reduced, Order order)
    : input_(&input),
      outer_(walk_over(input, reduced, false, false)),
      inner_(walk_over(input, reduced, true, order == Order::OfMemory)) {
  results_ = outer_.count();
  for (int i = input->rank() - 1; i >= 0; --i) {
    if (input->sizes()[i] == 1 || (reduced[static_cast<size_t>(i)] && order == Order::OfMemory)) continue;
    if (!reduced[static_cast<size_t>(i)] && input->strides()[i] == 1 && input->sizes()[i] >= 8)
      columns_ = input->sizes()[i];
    break;
  }
}

const char* ReductionSpace::result_data(int64_t result) const {
  return static_cast<const char*>((*input_)->data()) + outer_.offset(0, result);
}

}  // namespace md
