#include "guards/frozen_tensor.h"

#include "cpython/weak_reference.h"
#include "guards/object_memory.h"

namespace md {
namespace {

bool is_over(const Tensor& tensor, const TensorView& now) {
  TensorView view = view_of(*tensor.impl());
  return view.data == now.data && is_alike(view, now);
}

}  // namespace

Tensor FrozenTensor::of(const TensorFamily& family, BorrowedRef object) {
  uint64_t version = 0;
  TensorView view;
  bool is_parameter = family.parameter_version != nullptr && family.parameter_version(object, version);
  if (!is_parameter || !read_view(family, object, view)) return {};
  bool is_known = weak_ && referent_of(weak_) == object.get();
  if (is_known && version_ == version && is_over(tensor_, view)) return tensor_;
  if (!is_known) weak_ = check(PyWeakref_NewRef(object, nullptr));
  version_ = version;
  tensor_ = tensor_over_frozen(object, view);
  return tensor_;
}

}  // namespace md
