#include "frontends/minidynamo/tensor_dlpack.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "cpython/errors.h"
#include "frontends/minidynamo/dlpack.h"
#include "frontends/minidynamo/tensor_buffer.h"
#include "tensor/simd/element_walk.h"

namespace md {
namespace {

constexpr const char* kName = "dltensor";
constexpr const char* kUsedName = "used_dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";
constexpr const char* kUsedVersionedName = "used_dltensor_versioned";

[[noreturn]] void raise_buffer_error(const char* words) {
  PyErr_SetString(PyExc_BufferError, words);
  throw PythonError();
}

// ---- export ----

// Keeps the tensor alive while a consumer uses the memory.
template <typename Form>
struct Export {
  Form form{};
  Tensor tensor;
  std::vector<int64_t> shape, strides;
};

template <typename Form>
void delete_export(Form* form) {
  delete static_cast<Export<Form>*>(form->context);
}

dlpack::DataType type_of(DType dtype) {
  return {static_cast<uint8_t>(row(dtype).names.dlpack), static_cast<uint8_t>(item_size(dtype) * 8), 1};
}

template <typename Form>
std::unique_ptr<Export<Form>> make_export(const Tensor& tensor) {
  auto made = std::make_unique<Export<Form>>();
  made->tensor = tensor;
  made->shape.assign(tensor->sizes(), tensor->sizes() + tensor->rank());
  made->strides.assign(tensor->strides(), tensor->strides() + tensor->rank());
  made->form.context = made.get();
  made->form.deleter = delete_export<Form>;
  made->form.array = {tensor->data(),
                      {dlpack::kCpu, 0},
                      tensor->rank(),
                      type_of(tensor->dtype()),
                      made->shape.data(),
                      made->strides.data(),
                      0};
  return made;
}

// A capsule that was never consumed still owns its contents.
template <typename Form>
void destroy_capsule(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* form = static_cast<Form*>(PyCapsule_GetPointer(capsule, name));
  if (form != nullptr && form->deleter != nullptr) form->deleter(form);
}
void destroy_plain(PyObject* capsule) { destroy_capsule<dlpack::Managed>(capsule, kName); }
void destroy_versioned(PyObject* capsule) { destroy_capsule<dlpack::ManagedVersioned>(capsule, kVersionedName); }

// ---- import ----

// Producers are not trusted: an invalid field is a ValueError that names it.
template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  raise(ErrorKind::Value, "from_dlpack(): ", parts...);
}

// Whether it is a valid DLPack type, even if there is no dtype for it.
bool is_a_type(const dlpack::DataType& type) {
  auto one_of = [&](std::initializer_list<int> sizes) { return std::ranges::find(sizes, type.bits) != sizes.end(); };
  if (type.lanes == 0) return false;
  switch (static_cast<dlpack::TypeCode>(type.code)) {
    case dlpack::kInt:
    case dlpack::kUInt:
      return one_of({1, 2, 4, 8, 16, 32, 64, 128});
    case dlpack::kFloat:
      return one_of({16, 32, 64, 80, 96, 128});
    case dlpack::kBFloat:
      return type.bits == 16;
    case dlpack::kComplex:
      return one_of({32, 64, 128, 160, 192, 256});
    case dlpack::kBool:
      return type.bits == 8;
    case dlpack::kOpaque:
      return true;
  }
  return type.code <= dlpack::kLastCode && one_of({4, 6, 8});
}

DType dtype_of(const dlpack::DataType& type) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DTypeRow& row = kDTypes[i];
    bool is_kind = static_cast<uint8_t>(row.names.dlpack) == type.code;
    if (type.lanes == 1 && is_kind && row.size * 8 == type.bits) return static_cast<DType>(i);
  }
  ErrorKind kind = is_a_type(type) ? ErrorKind::Runtime : ErrorKind::Value;
  raise(kind, "from_dlpack(): Unsupported type code ", int{type.code}, " with ", int{type.bits}, " bits and ",
        type.lanes, " lanes", kind == ErrorKind::Value ? " in dtype" : "");
}

void check_sizes(const dlpack::Array& array) {
  if (array.ndim < 0 || array.ndim > ElementWalk::kMaxRank)
    refuse("ndim is ", array.ndim, ", not one of 0 to ", ElementWalk::kMaxRank);
  if (array.ndim > 0 && array.shape == nullptr) refuse("shape is NULL, with an ndim of ", array.ndim);
  for (int i = 0; i < array.ndim; ++i)
    if (array.shape[i] < 0) refuse("shape[", i, "] is ", array.shape[i], ", a negative size");
}

int64_t in_memory(int64_t bytes) {
  constexpr int kAddressBits = 57;
  if (bytes >> kAddressBits != 0) refuse("shape and strides span ", bytes, " bytes, more than there can be");
  return bytes;
}

// Bytes spanned by the elements, from the first one on.
int64_t span_of(const dlpack::Array& array, int64_t item) {
  int64_t elements = 1, bytes = 0, last = 0;
  bool is_empty = false;
  for (int i = 0; i < array.ndim; ++i) {
    is_empty = is_empty || array.shape[i] == 0;
    if (array.shape[i] != 0 && __builtin_mul_overflow(elements, array.shape[i], &elements))
      refuse("shape has more than 2^63 elements");
  }
  if (is_empty) return 0;
  if (__builtin_mul_overflow(elements, item, &bytes)) refuse("shape has more than 2^63 bytes");
  if (array.strides == nullptr) return in_memory(bytes);
  for (int i = 0; i < array.ndim; ++i) {
    if (array.shape[i] == 1) continue;
    if (array.strides[i] < 0) refuse("negative strides are not supported: copy the array first");
    int64_t way = 0;
    if (__builtin_mul_overflow(array.shape[i] - 1, array.strides[i], &way) || __builtin_add_overflow(last, way, &last))
      refuse("strides[", i, "] is ", array.strides[i], ", beyond 2^63 elements");
  }
  if (__builtin_add_overflow(last, int64_t{1}, &last) || __builtin_mul_overflow(last, item, &bytes))
    refuse("strides reach beyond 2^63 bytes");
  return in_memory(bytes);
}

// Address of the first element.
char* start_of(const dlpack::Array& array, int64_t item, int64_t span) {
  MD_ASSERT(item > 0, "a dtype without a size");
  auto data = reinterpret_cast<uintptr_t>(array.data);
  if (span > 0 && data == 0) refuse("data is NULL, and shape is not empty");
  uintptr_t start = 0, end = 0;
  if (__builtin_add_overflow(data, array.byte_offset, &start) ||
      __builtin_add_overflow(start, static_cast<uintptr_t>(span), &end))
    refuse("byte_offset is ", array.byte_offset, ", beyond the end of memory");
  if (start % static_cast<uintptr_t>(item) != 0)
    refuse("data and byte_offset: the data is not aligned to its element size");
  return reinterpret_cast<char*>(start);
}

TensorSpec spec_of(const dlpack::Array& array) {
  if (array.device.type != dlpack::kCpu) {
    raise(ErrorKind::Runtime, "from_dlpack(): the data is on device type ", array.device.type,
          ", minidynamo takes CPU memory only");
  }
  TensorSpec spec;
  spec.dtype = dtype_of(array.dtype);
  check_sizes(array);
  bool is_empty = span_of(array, static_cast<int64_t>(item_size(spec.dtype))) == 0;
  for (int i = 0; i < array.ndim; ++i) spec.sizes.push_back(array.shape[i]);
  DimVec contiguous = contiguous_strides(spec.sizes.span());
  for (int i = 0; i < array.ndim; ++i) {
    bool unread = is_empty || array.shape[i] == 1 || array.strides == nullptr;
    spec.strides.push_back(unread ? contiguous[i] : Dim(array.strides[i]));
  }
  return spec;
}

template <typename Form>
void release_form(void*, void* context) {
  auto* form = static_cast<Form*>(context);
  if (form->deleter != nullptr && Py_IsInitialized()) form->deleter(form);
}

template <typename Form>
Tensor take(BorrowedRef capsule, const char* name, const char* used_name, bool read_only) {
  auto* form = static_cast<Form*>(PyCapsule_GetPointer(capsule.get(), name));
  if (form == nullptr) throw PythonError();
  TensorSpec spec = spec_of(form->array);
  auto item = static_cast<int64_t>(item_size(spec.dtype));
  char* data = start_of(form->array, item, span_of(form->array, item));
  check_status(PyCapsule_SetName(capsule.get(), used_name));
  StoragePtr storage = Storage::borrow(data, spanned_bytes(spec), release_form<Form>, form);
  if (read_only) storage->mark_read_only();
  return Tensor::from_storage(std::move(storage), 0, spec);
}

Tensor take_capsule(BorrowedRef capsule) {
  if (PyCapsule_IsValid(capsule.get(), kVersionedName)) {
    auto* form = static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule.get(), kVersionedName));
    if (form->version.major > dlpack::kMajor) {
      raise(ErrorKind::Runtime, "from_dlpack(): DLPack version ", form->version.major, " is not supported");
    }
    return take<dlpack::ManagedVersioned>(capsule, kVersionedName, kUsedVersionedName, form->flags & dlpack::kReadOnly);
  }
  if (PyCapsule_IsValid(capsule.get(), kName)) return take<dlpack::Managed>(capsule, kName, kUsedName, false);
  raise(ErrorKind::Runtime,
        "from_dlpack(): got an invalid capsule. Note that a DLPack capsule can be consumed only once");
}

void check_device(BorrowedRef source) {
  Ref device = check(PyObject_CallMethod(source.get(), "__dlpack_device__", nullptr));
  int type = 0, id = 0;
  if (!PyTuple_Check(device.get())) raise(ErrorKind::Type, "from_dlpack(): __dlpack_device__ must give a tuple");
  if (!PyArg_ParseTuple(device, "ii", &type, &id)) throw PythonError();
  if (type != dlpack::kCpu) {
    raise(ErrorKind::Runtime, "from_dlpack(): the data is on device type ", type, ", minidynamo takes CPU memory only");
  }
}

// Exporters older than DLPack 1.0 do not know max_version.
Ref capsule_of(BorrowedRef source) {
  Ref method = check(PyObject_GetAttrString(source.get(), "__dlpack__"));
  Ref args = check(PyTuple_New(0));
  Ref kwargs = check(Py_BuildValue("{s:(II)}", "max_version", dlpack::kMajor, dlpack::kMinor));
  Ref capsule = Ref::steal(PyObject_Call(method, args, kwargs));
  if (capsule) return capsule;
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
  PyErr_Clear();
  return check(PyObject_CallNoArgs(method));
}

}  // namespace

Ref tensor_to_dlpack(const Tensor& tensor, bool versioned, bool copied) {
  if (tensor->kind() != TensorKind::Real) raise_buffer_error("the values of a tensor are not known while it is traced");
  if (tensor.requires_grad()) {
    raise_buffer_error("Can't export tensors that require gradient, use tensor.detach()");
  }
  bool read_only = tensor->storage()->read_only();
  if (!versioned) {
    if (read_only) raise_buffer_error("a read-only tensor needs a consumer of DLPack 1.0");
    auto made = make_export<dlpack::Managed>(tensor);
    Ref capsule = check(PyCapsule_New(&made->form, kName, destroy_plain));
    static_cast<void>(made.release());  // the capsule owns it
    tensor->storage()->mark_shared_with_outside();
    return capsule;
  }
  auto made = make_export<dlpack::ManagedVersioned>(tensor);
  made->form.version = {dlpack::kMajor, dlpack::kMinor};
  made->form.flags = (read_only ? dlpack::kReadOnly : 0) | (copied ? dlpack::kIsCopied : 0);
  Ref capsule = check(PyCapsule_New(&made->form, kVersionedName, destroy_versioned));
  static_cast<void>(made.release());
  tensor->storage()->mark_shared_with_outside();
  return capsule;
}

Tensor tensor_from_dlpack(BorrowedRef source) {
  if (PyCapsule_CheckExact(source.get())) return take_capsule(source);
  if (!PyObject_HasAttrString(source.get(), "__dlpack__")) {
    raise(ErrorKind::Type, "from_dlpack(): expected an object with __dlpack__, got ", source.type()->tp_name);
  }
  check_device(source);
  return take_capsule(capsule_of(source));
}

}  // namespace md
