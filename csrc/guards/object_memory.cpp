#include "guards/object_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "cpython/gil_scope.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

// Runs on the thread that drops the last tensor, with or without the GIL, perhaps after finalisation.
void release_owner(void*, void* context) {
  auto* object = static_cast<PyObject*>(context);
  if (object == nullptr || !Py_IsInitialized()) return;
  if (PyGILState_Check() != 0) {
    Py_DECREF(object);
    return;
  }
  GilScope gil;
  Py_DECREF(object);
}

// Of an object that is made for a result. By the deleter it is known from others.
void release_new_owner(void* data, void* context) { release_owner(data, context); }

// Of memory that is known without a reference to its owner.
void release_nothing(void*, void*) {}

int64_t nbytes_of(const TensorView& view) { return extent_of(view) * static_cast<int64_t>(item_size(view.dtype)); }

struct Bytes {
  char *begin, *end;
};
Bytes bytes_of(const TensorView& view) {
  auto item = static_cast<int64_t>(item_size(view.dtype));
  Reach reach = reach_of(view);
  char* first = static_cast<char*>(view.data);
  return {first + reach.low * item, first + reach.end * item};
}

// The storage has the elements from the lowest one on.
Tensor borrowed(const TensorView& view, Storage::Deleter release, void* context) {
  auto item = static_cast<int64_t>(item_size(view.dtype));
  Reach reach = reach_of(view);
  char* lowest = static_cast<char*>(view.data) + reach.low * item;
  StoragePtr storage = Storage::borrow(lowest, static_cast<size_t>(reach.count() * item), release, context);
  return Tensor::from_storage(std::move(storage), -reach.low, view.spec());
}

Tensor over(Ref object, bool is_new, const TensorView& view, bool is_writable) {
  Tensor tensor = borrowed(view, is_new ? release_new_owner : release_owner, object.release());
  if (!is_writable) tensor->storage()->mark_read_only();
  return tensor;
}

struct Owner {
  PyObject* object;  // borrowed from the storage; null: the memory belongs to no object
  bool is_new;
};
Owner owner_of(const Tensor& tensor) {
  const StoragePtr& storage = tensor->storage();
  if (!storage) return {nullptr, false};
  if (void* made = storage->context_of(release_new_owner)) return {static_cast<PyObject*>(made), true};
  if (void* known = storage->context_of(release_nothing)) return {static_cast<PyObject*>(known), false};
  return {static_cast<PyObject*>(storage->context_of(release_owner)), false};
}

bool is_whole(const TensorFamily& family, PyObject* object, const TensorView& wanted) {
  TensorView view;
  if (!read_view(family, object, view) || view.dtype != wanted.dtype || view.rank != wanted.rank) return false;
  // Of nothing, libraries choose strides and address.
  if (extent_of(view) == 0) return std::equal(view.sizes, view.sizes + view.rank, wanted.sizes);
  return view.data == wanted.data && same_layout(view, wanted);
}

bool is_dense(const TensorView& view) {
  int64_t bytes = static_cast<int64_t>(item_size(view.dtype));
  for (int i = 0; i < view.rank; ++i) bytes *= view.sizes[i];
  return bytes == nbytes_of(view);
}

// Tensors of results that have become objects, without memory: the next results of the same layout take them. Used
// under the GIL and never destroyed.
class SpentResults {
 public:
  // A tensor over the object's memory, which owns it as tensor_over_new() does; undefined if none has the layout.
  Tensor take(const TensorView& view, BorrowedRef object) {
    for (Tensor& spent : spent_) {
      if (!spent.defined() || !is_alike(view_of(*spent.impl()), view)) continue;
      Tensor tensor = tensor_over_again(std::move(spent), object, view.data);
      tensor->storage()->change_deleter(release_new_owner);
      return tensor;
    }
    return {};
  }
  void keep(Tensor result) {
    if (result->storage()->read_only()) return;
    Tensor spent = without_owner(std::move(result));
    if (spent.defined()) spent_[next_++ % spent_.size()] = std::move(spent);
  }

 private:
  std::array<Tensor, 8> spent_;
  size_t next_ = 0;
};
SpentResults& spent_results() {
  static auto* all = new SpentResults;
  return *all;
}

// Of outputs in one memory: one that begins there and has all others in it, or a new view over all of them.
void move_group(const TensorFamily& family, std::span<Tensor* const> group) {
  Bytes all = bytes_of(view_of(*group[0]->impl()));
  for (Tensor* each : group) {
    Bytes bytes = bytes_of(view_of(*each->impl()));
    all = {std::min(all.begin, bytes.begin), std::max(all.end, bytes.end)};
  }
  auto has_all = [&](Tensor* each) {
    TensorView view = view_of(*each->impl());
    Bytes bytes = bytes_of(view);
    return view.data == all.begin && bytes.begin == all.begin && bytes.end == all.end && is_dense(view);
  };
  auto whole = std::ranges::find_if(group, has_all);
  TensorView wanted = view_of(*(whole != group.end() ? *whole : group[0])->impl());
  int64_t count = (all.end - all.begin) / static_cast<int64_t>(item_size(wanted.dtype)), one = 1;
  if (whole == group.end()) {
    wanted.rank = 1;
    wanted.sizes = &count;
    wanted.strides = &one;
  }
  Ref object = family.empty(wanted);
  TensorView made;
  MD_ASSERT(read_view(family, object, made), "a new object ", made.refusal);
  std::memcpy(made.data, all.begin, static_cast<size_t>(all.end - all.begin));
  for (size_t i = 0; i < group.size(); ++i) {
    Tensor old = *group[i];
    TensorView view = view_of(*old.impl());
    view.data = static_cast<char*>(made.data) + (static_cast<char*>(view.data) - all.begin);
    bool is_whole = whole != group.end() && group[i] == *whole;
    *group[i] = is_whole ? tensor_over_new(Ref::share(object), view) : tensor_over(object, view);
  }
}

}  // namespace

void move_shared_outputs(std::span<const TensorFamily* const> families, std::span<Tensor> outputs) {
  if (families.size() < 2) return;
  std::vector<Tensor*> group;
  for (size_t i = 0; i < families.size(); ++i) {
    auto joins = [&](size_t at) {
      const TensorFamily* family = families[at];
      return family != nullptr && family->wrap == nullptr && outputs[at]->numel() > 0 &&
             owner_of(outputs[at]).object == nullptr;
    };
    if (!joins(i)) continue;
    group = {&outputs[i]};
    for (size_t other = i + 1; other < families.size(); ++other)
      if (families[other] == families[i] && joins(other) &&
          outputs[other]->storage().get() == outputs[i]->storage().get())
        group.push_back(&outputs[other]);
    if (group.size() > 1) move_group(*families[i], group);
  }
}

Tensor tensor_over(PyObject* owner, const TensorView& view) {
  const TensorFamily* family = family_of(owner);
  return over(Ref::share(owner), false, view, family == nullptr || family->is_writable(owner));
}

Tensor without_owner(Tensor tensor) {
  if (!tensor.is_sole()) return {};
  const StoragePtr& storage = tensor->storage();
  auto* owner = static_cast<PyObject*>(storage->context_of(release_owner));
  if (owner == nullptr) return {};
  tensor.move_to(nullptr, nullptr);
  Py_DECREF(owner);
  return tensor;
}

Tensor tensor_over_again(Tensor tensor, BorrowedRef owner, void* data) {
  tensor.move_to(data, Py_NewRef(owner.get()));
  return tensor;
}

Tensor tensor_over_frozen(PyObject* object, const TensorView& view) {
  Tensor tensor = borrowed(view, release_nothing, object);
  tensor->storage()->mark_frozen();
  return tensor;
}

Tensor tensor_over_new(Ref object, const TensorView& view) { return over(std::move(object), true, view, true); }

namespace {

Tensor result_under_gil(const TensorFamily& family, const TensorSpec& spec) {
  try {
    std::array<int64_t, 16> few;
    std::vector<int64_t> many(spec.rank() > 8 ? static_cast<size_t>(spec.rank()) * 2 : 0);
    int64_t* sizes = many.empty() ? few.data() : many.data();
    int64_t* strides = sizes + spec.rank();
    for (int i = 0; i < spec.rank(); ++i) {
      sizes[i] = spec.sizes[i].value();
      strides[i] = spec.strides[i].value();
    }
    TensorView view;
    view.dtype = spec.dtype;
    view.requires_grad = spec.requires_grad;
    view.rank = spec.rank();
    view.sizes = sizes;
    view.strides = strides;
    Ref object = family.empty(view);
    TensorView made;
    if (!read_view(family, object, made)) return {};
    Tensor again = spent_results().take(made, object);
    return again.defined() ? std::move(again) : tensor_over_new(std::move(object), made);
  } catch (const PythonError&) {
    PyErr_Clear();
    return {};
  }
}

}  // namespace

Tensor new_result(const TensorFamily& family, const TensorSpec& spec) {
  if (PyGILState_Check() != 0) return result_under_gil(family, spec);
  GilScope gil;
  return result_under_gil(family, spec);
}

Tensor tensor_of_result(PyObject* object) {
  const TensorFamily* family = find_family(Py_TYPE(object));
  if (family == nullptr) return {};
  if (family->contained != nullptr) return family->contained(object);
  TensorView view;
  return read_view(*family, object, view) ? tensor_over_new(Ref::share(object), view) : Tensor();
}

bool is_in_object(const Tensor& tensor) { return owner_of(tensor).object != nullptr; }

BorrowedRef object_around(const Tensor& tensor) { return owner_of(tensor).object; }

bool is_new_object(const TensorFamily& family, const Tensor& tensor) {
  Owner owner = owner_of(tensor);
  return owner.is_new && is_whole(family, owner.object, view_of(*tensor.impl()));
}

void count_writes(const TensorFamily& family, BorrowedRef object, int64_t writes) {
  if (writes == 0 || family.writes == nullptr) return;
  if (int64_t missing = writes - family.writes(object); missing > 0) family.written(object, static_cast<int>(missing));
}

Tensor in_new_object(const TensorFamily& family, const Tensor& tensor) {
  Ref object = family.empty(view_of(*tensor.impl()));
  TensorView made;
  MD_ASSERT(read_view(family, object, made), "a new object ", made.refusal);
  Tensor copy = tensor_over_new(std::move(object), made);
  copy_elements(tensor, copy);
  return copy;
}

Ref object_of_input(const TensorFamily& family, const Tensor& tensor) {
  if (family.wrap != nullptr) return family.wrap(tensor);
  Owner owner = owner_of(tensor);
  bool is_held = owner.object != nullptr && family_of(owner.object) == &family;
  if (is_held && is_whole(family, owner.object, view_of(*tensor.impl()))) return Ref::share(owner.object);
  return object_of_result(family, tensor);
}

Ref object_of_result(const TensorFamily& family, Tensor result, ViewTraits traits) {
  if (family.wrap != nullptr) return family.wrap(std::move(result));
  TensorView view = view_of(*result.impl());
  if (Owner owner = owner_of(result); owner.object != nullptr) {
    // The object itself is what other results may be views of.
    bool is_itself = owner.is_new && !traits.is_apart() && is_whole(family, owner.object, view);
    if (!is_itself) return family.alias(owner.object, view, traits);
    // From now on it is an object like others, of which a second result is a view.
    result->storage()->change_deleter(release_owner);
    Ref object = Ref::share(owner.object);
    spent_results().keep(std::move(result));
    return object;
  }
  Ref object = family.empty(view);
  Tensor whole = hold(family, object);
  copy_elements(result, whole);
  return traits.read_only ? family.alias(object, view_of(*whole.impl()), traits) : object;
}

}  // namespace md
