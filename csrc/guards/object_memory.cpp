#include "guards/object_memory.h"

#include <algorithm>

#include "base/error.h"
#include "cpython/gil_scope.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

// Runs on the thread that drops the last tensor, with or without the GIL, perhaps after finalisation.
void release_owner(void*, void* context) {
  auto* object = static_cast<PyObject*>(context);
  if (!Py_IsInitialized()) return;
  if (PyGILState_Check() != 0) {
    Py_DECREF(object);
    return;
  }
  GilScope gil;
  Py_DECREF(object);
}

// Of an object that is made for a result. By the deleter it is known from others.
void release_new_owner(void* data, void* context) { release_owner(data, context); }

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
  auto* release = is_new ? release_new_owner : release_owner;
  StoragePtr storage = Storage::borrow(view.data, static_cast<size_t>(extent_of(view)), release, object.release());
  if (!is_writable) storage->mark_read_only();
  return Tensor::from_storage(std::move(storage), 0, view.spec());
}

struct Owner {
  PyObject* object;  // borrowed from the storage; null: the memory belongs to no object
  bool is_new;
};
Owner owner_of(const Tensor& tensor) {
  const StoragePtr& storage = tensor->storage();
  if (!storage) return {nullptr, false};
  if (void* made = storage->context_of(release_new_owner)) return {static_cast<PyObject*>(made), true};
  return {static_cast<PyObject*>(storage->context_of(release_owner)), false};
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
  if (Owner owner = owner_of(result); owner.object != nullptr) {
    if (!owner.is_new || !is_whole(family, owner.object, view)) return family.alias(owner.object, view);
    // From now on it is an object like others, of which a second result is a view.
    result->storage()->change_deleter(release_owner);
    return Ref::share(owner.object);
  }
  Ref object = family.empty(view);
  copy_elements(result, hold(family, object));
  return object;
}

}  // namespace md
