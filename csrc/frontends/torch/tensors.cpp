#include "frontends/torch/tensors.h"

#include <limits>
#include <optional>

#include "base/error.h"
#include "cpython/object_protocol.h"
#include "cpython/tuples.h"
#include "frontends/torch/library.h"
#include "frontends/torch/objects.h"
#include "frontends/torch/state.h"

namespace md::torch {
namespace {

const void* impl_of(PyObject* object) { return word_at<const void*>(object, library().layout.impl_in_object); }
TensorHandle handle_of(PyObject* object) { return reinterpret_cast<char*>(object) + library().layout.impl_in_object; }

// The keys say what a type does not: conjugate, negated, sparse, fake, functional, nested, on another device.
const char* refusal_of_keys(uint64_t keys) {
  const Library& torch = library();
  if (keys == torch.plain_keys) return nullptr;
  if (keys != torch.inference_keys)
    return "is not an ordinary one on the CPU (sparse, conjugate, fake, of another device ...)";
  return torch.functions.inference_mode() ? nullptr : "was made in inference mode, which is off here";
}

bool read_words(const void* impl, TensorView& view) {
  const WordLayout& layout = library().layout;
  const void* storage = word_at<const void*>(impl, layout.storage);
  if (word_at<uint8_t>(storage, layout.checked_in_storage) != 0) {
    view.refusal = "shares memory until it is written";
    return false;
  }
  if (!dtype_of_scalar_type(word_at<uint16_t>(impl, layout.dtype), view.dtype)) return false;
  view.rank = static_cast<int>(word_at<uint64_t>(impl, layout.dims));
  const char* dims = static_cast<const char*>(impl) + layout.dims + 8;
  int strides_at = kInlineDims;
  if (view.rank > kInlineDims) {
    dims = word_at<const char*>(dims, 0);
    strides_at = view.rank;
  }
  view.sizes = reinterpret_cast<const int64_t*>(dims);
  view.strides = view.sizes + strides_at;
  auto* data = word_at<char*>(storage, layout.data_in_storage);
  int64_t offset = word_at<int64_t>(impl, layout.offset) * static_cast<int64_t>(item_size(view.dtype));
  view.data = data != nullptr ? data + offset : nullptr;
  view.requires_grad =
      word_at<const void*>(impl, layout.autograd) != nullptr && library().functions.requires_grad(impl);
  return true;
}

bool read_by_shim(PyObject* object, TensorView& view) {
  const Shim& shim = library().shim;
  TensorHandle handle = handle_of(object);
  int32_t code = 0;
  int64_t rank = 0;
  int64_t *sizes = nullptr, *strides = nullptr;
  void* data = nullptr;
  bool is_read = shim.dtype(handle, &code) == 0 && shim.rank(handle, &rank) == 0 && shim.sizes(handle, &sizes) == 0 &&
                 shim.strides(handle, &strides) == 0 && dtype_of_scalar_type(code, view.dtype) &&
                 shim.data_ptr(handle, &data) == 0;
  if (!is_read) return false;
  view.rank = static_cast<int>(rank);
  view.sizes = sizes;
  view.strides = strides;
  view.data = data;
  view.requires_grad = library().functions.requires_grad(impl_of(object));
  return true;
}

int64_t storage_offset(PyObject* object) {
  int64_t offset = 0;
  if (library().layout.is_known) return word_at<int64_t>(impl_of(object), library().layout.offset);
  library().shim.storage_offset(handle_of(object), &offset);
  return offset;
}

}  // namespace

bool read(PyObject* object, TensorView& view) {
  const WordLayout& layout = library().layout;
  view.refusal = "has a dtype that is not supported";
  const void* impl = impl_of(object);
  uint64_t keys = word_at<uint64_t>(impl, layout.key_set);
  if (const char* refusal = refusal_of_keys(keys)) {
    view.refusal = refusal;
    return false;
  }
  view.witness = keys;
  return layout.is_known ? read_words(impl, view) : read_by_shim(object, view);
}

// torch has no read-only memory.
bool is_writable(PyObject*) { return true; }

Ref empty(const TensorView& view) {
  TensorHandle made = nullptr;
  int32_t status = library().shim.empty_strided(view.rank, view.sizes, view.strides.in_elements(),
                                                scalar_type(view.dtype), 0, -1, &made);
  if (status != 0) {
    if (PyErr_Occurred() == nullptr) PyErr_NoMemory();
    throw PythonError();
  }
  PyObject* object = library().functions.wrap(made);
  library().shim.delete_tensor(made);
  return check(object);
}

namespace {

Ref without_history(PyObject* tensor, ViewTraits traits) {
  static PyObject* const kDetach = PyUnicode_InternFromString("detach");
  static PyObject* const kData = PyUnicode_InternFromString("data");
  return check(traits.uncounted ? PyObject_GetAttr(tensor, kData) : PyObject_CallMethodNoArgs(tensor, kDetach));
}

}  // namespace

Ref alias(PyObject* owner, const TensorView& view, ViewTraits traits) {
  static PyObject* const kAsStrided = PyUnicode_InternFromString("as_strided");
  TensorView whole;
  MD_ASSERT(read(owner, whole), "the owner of a view ", whole.refusal);
  // Of an owner with a history, the view has one if the program made it so, in whatever mode it was.
  std::optional<ModeSwitch> mode;
  if (whole.requires_grad && traits.detached == ViewTraits::Detached::No)
    mode.emplace(modes, set_modes, view.requires_grad);
  Ref viewed = traits.detached == ViewTraits::Detached::First ? without_history(owner, traits) : Ref::share(owner);
  auto item = static_cast<int64_t>(item_size(view.dtype));
  int64_t bytes = static_cast<char*>(view.data) - static_cast<char*>(whole.data) +
                  storage_offset(owner) * static_cast<int64_t>(item_size(whole.dtype));
  if (view.dtype != whole.dtype) viewed = as_dtype(viewed, view.dtype);
  Ref sizes = tuple_of({view.sizes, static_cast<size_t>(view.rank)});
  Ref strides = tuple_of({view.strides.in_elements(), static_cast<size_t>(view.rank)});
  Ref offset = check(PyLong_FromLongLong(bytes / item));
  Ref part = check(PyObject_CallMethodObjArgs(viewed, kAsStrided, sizes.get(), strides.get(), offset.get(), nullptr));
  // Without recording torch notes that of any view.
  if (traits.one_of_several && traits.detached == ViewTraits::Detached::No && modes().records_gradient())
    note_one_of_several(part);
  return traits.detached == ViewTraits::Detached::Last ? without_history(part, traits) : part;
}

namespace {

// Null: an inference tensor, or the layout is not known.
uint32_t* version_counter(PyObject* object) {
  const WordLayout& layout = library().layout;
  char* counter = layout.is_known ? word_at<char*>(impl_of(object), layout.version_counter) : nullptr;
  return counter != nullptr ? reinterpret_cast<uint32_t*>(counter + layout.version) : nullptr;
}

}  // namespace

bool parameter_version(PyObject* object, uint64_t& version) {
  if (!Py_IS_TYPE(object, library().parameter)) return false;
  const uint32_t* counter = version_counter(object);
  version = counter != nullptr ? *counter : 0;
  return true;
}

int64_t counted_writes(PyObject* object) {
  if (const uint32_t* counter = version_counter(object)) return *counter;
  // Inference tensors count none.
  return library().layout.is_known ? std::numeric_limits<int64_t>::max() : version_of(object);
}

void note_written(PyObject* object, int count) {
  if (!library().layout.is_known) return raise_version(object, count);
  if (uint32_t* counter = version_counter(object))
    __atomic_fetch_add(counter, static_cast<uint32_t>(count), __ATOMIC_RELAXED);
}

}  // namespace md::torch
