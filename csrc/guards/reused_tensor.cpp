#include "guards/reused_tensor.h"

#include "guards/object_memory.h"

namespace md {

Tensor ReusedTensor::take(const TensorFamily& family, BorrowedRef object) {
  if (family.contained != nullptr) return Tensor(family.contained(object));
  TensorView view;
  if (!family.read(object, view)) return {};
  Tensor kept = std::move(kept_);
  bool fits = kept.defined() && is_alike(view_of(*kept.impl()), view) &&
              family.is_writable(object) != kept->storage()->read_only();
  return fits ? tensor_over_again(std::move(kept), object, view.data) : tensor_over(object, view);
}

void ReusedTensor::give_back(Tensor tensor) { kept_ = without_owner(std::move(tensor)); }

}  // namespace md
