#include "guards/object_memory.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

struct Owner {
  Ref object;
  bool is_new;  // not yet returned as a result
};

// Runs on the thread that drops the last tensor, with or without the GIL, perhaps after finalisation.
void release_owner(void*, void* context) {
  auto* owner = static_cast<Owner*>(context);
  if (!Py_IsInitialized()) {
    owner->object.release();
    delete owner;
    return;
  }
  PyGILState_STATE state = PyGILState_Ensure();
  delete owner;
  PyGILState_Release(state);
}

int64_t extent_of(const TensorView& view) {
  int64_t last = 0;
  for (int i = 0; i < view.rank; ++i) {
    if (view.sizes[i] == 0) return 0;
    last += (view.sizes[i] - 1) * view.strides[i];
  }
  return (last + 1) * static_cast<int64_t>(item_size(view.dtype));
}

Tensor over(Ref object, bool is_new, const TensorView& view, bool is_writable) {
  for (int i = 0; i < view.rank; ++i) MD_ASSERT(view.strides[i] >= 0, "a stride of memory that is shared is negative");
  auto* owner = new Owner{std::move(object), is_new};
  StoragePtr storage = Storage::borrow(view.data, static_cast<size_t>(extent_of(view)), release_owner, owner);
  if (!is_writable) storage->mark_read_only();
  return Tensor::from_storage(std::move(storage), 0, view.spec());
}

// Null: the memory belongs to no object.
Owner* owner_of(const Tensor& tensor) {
  return tensor->storage() ? static_cast<Owner*>(tensor->storage()->context_of(release_owner)) : nullptr;
}

bool is_whole(const TensorFamily& family, PyObject* object, const TensorView& wanted) {
  TensorView view;
  if (!read_view(family, object, view) || view.data != wanted.data || view.dtype != wanted.dtype ||
      view.rank != wanted.rank)
    return false;
  return std::equal(view.sizes, view.sizes + view.rank, wanted.sizes) &&
         std::equal(view.strides, view.strides + view.rank, wanted.strides);
}

}  // namespace

Tensor tensor_over(PyObject* owner, const TensorView& view) {
  const TensorFamily* family = family_of(owner);
  return over(Ref::share(owner), false, view, family == nullptr || family->is_writable(owner));
}

Tensor tensor_over_new(Ref object, const TensorView& view) { return over(std::move(object), true, view, true); }

Ref object_of_result(const TensorFamily& family, Tensor result) {
  if (family.wrap != nullptr) return family.wrap(std::move(result));
  TensorView view = view_of(*result.impl());
  if (Owner* owner = owner_of(result)) {
    bool is_itself = owner->is_new && is_whole(family, owner->object, view);
    if (!is_itself) return family.alias(owner->object, view);
    owner->is_new = false;
    return owner->object;
  }
  Ref object = family.empty(view);
  copy_elements(result, hold(family, object));
  return object;
}

}  // namespace md
