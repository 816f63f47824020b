#include "guards/reused_tensor.h"

#include <algorithm>
#include <cstring>

#include "guards/object_memory.h"

namespace md {
namespace {

bool has_layout(const Tensor& tensor, const TensorView& view) {
  const TensorSpec& spec = tensor.spec();
  auto bytes = static_cast<size_t>(view.rank) * sizeof(int64_t);
  return spec.dtype == view.dtype && spec.requires_grad == view.requires_grad && spec.rank() == view.rank &&
         std::memcmp(tensor->sizes(), view.sizes, bytes) == 0 &&
         std::memcmp(tensor->strides(), view.strides, bytes) == 0;
}

}  // namespace

Tensor ReusedTensor::take(const TensorFamily& family, BorrowedRef object) {
  if (family.contained != nullptr) return Tensor(family.contained(object));
  TensorView view;
  if (!family.read(object, view)) return {};
  Tensor kept = std::move(kept_);
  bool fits = kept.defined() && has_layout(kept, view) && family.is_writable(object);
  return fits ? tensor_over_again(std::move(kept), object, view.data) : tensor_over(object, view);
}

void ReusedTensor::give_back(Tensor tensor) { kept_ = without_owner(std::move(tensor)); }

}  // namespace md
