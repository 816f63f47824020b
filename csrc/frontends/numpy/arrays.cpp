#include "frontends/numpy/arrays.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "frontends/numpy/library.h"

namespace md::numpy {
namespace {

const ArrayObject& array_of(PyObject* object) { return *reinterpret_cast<const ArrayObject*>(object); }

// The bytes of a scalar come right behind its head.
void* element_of(PyObject* object) { return reinterpret_cast<char*>(object) + sizeof(PyObject); }

// Strides in bytes.
class ByteStrides {
 public:
  explicit ByteStrides(const TensorView& view) {
    if (view.rank > static_cast<int>(few_.size())) many_.resize(static_cast<size_t>(view.rank));
    for (int i = 0; i < view.rank; ++i) at(i) = view.strides[i] * static_cast<int64_t>(item_size(view.dtype));
  }
  const Py_ssize_t* words() const { return many_.empty() ? few_.data() : many_.data(); }

 private:
  Py_ssize_t& at(int i) { return many_.empty() ? few_[static_cast<size_t>(i)] : many_[static_cast<size_t>(i)]; }
  std::array<Py_ssize_t, 8> few_;
  std::vector<Py_ssize_t> many_;
};

PyObject* new_descr(DType dtype) { return Py_NewRef(library().descrs[static_cast<size_t>(dtype)]); }

Ref new_array(const TensorView& view, const Py_ssize_t* strides, void* data, int flags) {
  return check(library().functions.new_from_descr(library().array, new_descr(view.dtype), view.rank,
                                                  reinterpret_cast<const Py_ssize_t*>(view.sizes), strides, data, flags,
                                                  nullptr));
}

Ref view_over(PyObject* owner, const TensorView& view, int flags) {
  Ref array = new_array(view, ByteStrides(view).words(), view.data, flags);
  if (library().functions.set_base_object(array, Py_NewRef(owner)) != 0) throw PythonError();
  return array;
}

int64_t count(const TensorView& view) {
  int64_t all = 1;
  for (int i = 0; i < view.rank; ++i) all *= view.sizes[i];
  return all;
}

// As numpy.broadcast_to() makes views, which are read-only.
bool repeats_elements(const TensorView& view) {
  if (extent_of(view) == 0) return false;
  for (int i = 0; i < view.rank; ++i)
    if (view.strides[i] == 0 && view.sizes[i] > 1) return true;
  return false;
}

}  // namespace

bool read_array(PyObject* object, TensorView& view) {
  const ArrayObject& array = array_of(object);
  if (!dtype_of_descr(array.descr, view.dtype)) {
    view.refusal = "has a dtype that is not supported";
    return false;
  }
  if ((array.flags & kAligned) == 0) {
    view.refusal = "is not aligned";
    return false;
  }
  auto item = static_cast<Py_ssize_t>(item_size(view.dtype));
  for (int i = 0; i < array.rank; ++i) {
    if (array.strides[i] % item == 0) continue;
    view.refusal = "lies inside of larger elements";
    return false;
  }
  view.rank = array.rank;
  view.sizes = array.sizes;
  view.strides = Strides(array.strides, std::countr_zero(static_cast<uint64_t>(item)));
  view.data = array.data;
  view.witness = static_cast<uint64_t>(array.flags & (kWriteable | kWarnsOnWrite));
  return true;
}

bool is_writable(PyObject* object) {
  return Py_IS_TYPE(object, library().array) && (array_of(object).flags & (kWriteable | kWarnsOnWrite)) == kWriteable;
}

Ref empty(const TensorView& view) {
  Reach reach = reach_of(view);
  if (reach.low == 0 && reach.end <= count(view)) return new_array(view, ByteStrides(view).words(), nullptr, 0);
  // NumPy allocates as many elements as there are, from the first one on: others are behind a base.
  int64_t all = reach.count(), one = 1;
  TensorView flat;
  flat.dtype = view.dtype;
  flat.rank = 1;
  flat.sizes = &all;
  flat.strides = Strides(&one);
  Ref base = new_array(flat, nullptr, nullptr, 0);
  TensorView whole = view;
  whole.data = static_cast<char*>(array_of(base.get()).data) - reach.low * static_cast<int64_t>(item_size(view.dtype));
  return view_over(base.get(), whole, kWriteable);
}

Ref alias(PyObject* owner, const TensorView& view, ViewTraits traits) {
  bool is_read_only = traits.read_only || repeats_elements(view);
  if (Py_IS_TYPE(owner, library().array))
    return view_over(owner, view, is_read_only ? 0 : array_of(owner).flags & kWriteable);
  // Scalars have no views: one of an array with the same element.
  TensorView element;
  element.dtype = view.dtype;
  Ref array = new_array(element, nullptr, nullptr, 0);
  TensorView whole = view;
  whole.data = array_of(array.get()).data;
  std::memcpy(whole.data, element_of(owner), item_size(view.dtype));
  return view_over(array.get(), whole, is_read_only ? 0 : kWriteable);
}

Ref over_memory(PyObject* owner, const TensorView& view) { return view_over(owner, view, 0); }

bool read_scalar(PyObject* object, TensorView& view) {
  if (!dtype_of_scalar_type(Py_TYPE(object), view.dtype)) {
    view.refusal = "has a dtype that is not supported";
    return false;
  }
  view.rank = 0;
  view.data = element_of(object);
  return true;
}

Ref scalar(Tensor tensor) {
  const Tensor held = std::move(tensor);
  return check(library().functions.scalar(held->memory(), new_descr(held->dtype()), nullptr));
}

}  // namespace md::numpy
