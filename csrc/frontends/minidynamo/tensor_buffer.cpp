#include "frontends/minidynamo/tensor_buffer.h"

#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "cpython/errors.h"
#include "cpython/gil_scope.h"
#include "frontends/minidynamo/tensor_object.h"
#include "frontends/minidynamo/tensor_slots.h"

namespace md {
namespace {

// int64 is 'l', which NumPy calls int64.
static_assert(sizeof(long) == 8);

// ---- export ----

struct Export {
  std::vector<Py_ssize_t> shape;
  std::vector<Py_ssize_t> strides;
};

// "" if the tensor can be exported.
const char* why_no_buffer(const Tensor& tensor) {
  if (tensor->kind() != TensorKind::Real) return "the values of a tensor are not known while it is traced";
  if (tensor.requires_grad()) return "a Tensor that requires grad has no buffer: use tensor.detach()";
  if (row(tensor->dtype()).names.buffer == nullptr) return "bfloat16 has no buffer format";
  return "";
}

std::unique_ptr<Export> make_export(const Tensor& tensor) {
  auto made = std::make_unique<Export>();
  for (int i = 0; i < tensor->rank(); ++i) {
    made->shape.push_back(tensor->sizes()[i]);
    made->strides.push_back(tensor->strides()[i] * static_cast<Py_ssize_t>(item_size(tensor->dtype())));
  }
  return made;
}

bool has_layout(const Tensor& tensor, int flags) {
  auto asks = [flags](int wanted) { return (flags & wanted) == wanted; };
  if (asks(PyBUF_F_CONTIGUOUS)) return tensor->is_contiguous() && tensor->rank() <= 1;
  bool wants_contiguous = !asks(PyBUF_STRIDES) || asks(PyBUF_C_CONTIGUOUS) || asks(PyBUF_ANY_CONTIGUOUS);
  return !wants_contiguous || tensor->is_contiguous();
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Tensor& tensor = tensor_of(self);
  const char* problem = why_no_buffer(tensor);
  if (*problem == '\0' && (flags & PyBUF_WRITABLE) && tensor->is_read_only()) {
    problem = "the memory of the Tensor is read-only";
  }
  if (*problem == '\0' && !has_layout(tensor, flags)) problem = "the Tensor is not contiguous as it was asked for";
  if (*problem != '\0') {
    view->obj = nullptr;
    PyErr_SetString(PyExc_BufferError, problem);
    return -1;
  }
  try {
    std::unique_ptr<Export> made = make_export(tensor);
    tensor->storage()->mark_shared_with_outside();
    view->buf = tensor->data();
    view->obj = Py_NewRef(self);
    view->len = tensor->numel() * static_cast<Py_ssize_t>(item_size(tensor->dtype()));
    view->itemsize = static_cast<Py_ssize_t>(item_size(tensor->dtype()));
    view->readonly = tensor->is_read_only();
    view->ndim = tensor->rank();
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(row(tensor->dtype()).names.buffer) : nullptr;
    view->shape = (flags & PyBUF_ND) ? made->shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? made->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = made.release();
    return 0;
  } catch (...) {
    view->obj = nullptr;
    set_error_from_current_exception();
    return -1;
  }
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Export*>(view->internal); }

// ---- import ----

// Owns a Py_buffer; released under the GIL, now or when the interpreter next handles pending calls.
class BufferHolder {
 public:
  BufferHolder() { view.obj = nullptr; }
  BufferHolder(const BufferHolder&) = delete;
  BufferHolder& operator=(const BufferHolder&) = delete;
  ~BufferHolder() { PyBuffer_Release(&view); }
  Py_buffer view{};
};

int release_holder(void* holder) {
  delete static_cast<BufferHolder*>(holder);
  return 0;
}

// Deleter of a storage: called on any thread, with or without the GIL. After interpreter shutdown the memory is leaked.
void drop_holder(void*, void* holder) {
  if (!Py_IsInitialized()) return;
  if (PyGILState_Check()) {
    release_holder(holder);
  } else if (Py_AddPendingCall(release_holder, holder) != 0) {
    GilScope gil;
    release_holder(holder);
  }
}

bool has_foreign_byte_order(const char* format) { return *format == '>' || *format == '!'; }

DType require_dtype(const Py_buffer& view, const char* what) {
  const char* format = view.format == nullptr ? "B" : view.format;
  if (has_foreign_byte_order(format) && view.itemsize > 1) {
    raise(ErrorKind::Value, what, ": given array has byte order different from the native byte order");
  }
  std::optional<DType> dtype = dtype_of_format(format, static_cast<size_t>(view.itemsize));
  if (dtype) return *dtype;
  raise(ErrorKind::Type, what, ": can't convert an array of format '", format,
        "'. The only supported types are: complex128, complex64, float64, float32, float16, int64, int32, int16, int8, "
        "uint8 and bool.");
}

TensorSpec spec_of_buffer(const Py_buffer& view, DType dtype, const char* what) {
  TensorSpec spec;
  spec.dtype = dtype;
  if (view.ndim > 0 && view.shape == nullptr)
    raise(ErrorKind::Value, what, ": the given buffer does not tell its shape");
  // ctypes omits strides although they are requested: then C-contiguous.
  if (view.strides == nullptr) {
    for (int i = 0; i < view.ndim; ++i) spec.sizes.push_back(view.shape[i]);
    spec.strides = contiguous_strides(spec.sizes.span());
    return spec;
  }
  for (int i = 0; i < view.ndim; ++i) {
    Py_ssize_t stride = view.strides[i];
    if (stride < 0) {
      raise(ErrorKind::Value, what,
            ": At least one stride in the given array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a copy of your array.)");
    }
    if (stride % view.itemsize != 0) {
      raise(ErrorKind::Value, what,
            ": given array strides not a multiple of the element byte size. Copy the array first.");
    }
    spec.sizes.push_back(view.shape[i]);
    spec.strides.push_back(stride / view.itemsize);
  }
  return spec;
}

// NumPy uses arbitrary strides where sizes are 0 or 1; those that are never used become contiguous ones.
void tidy_strides(TensorSpec& spec) {
  DimVec contiguous = contiguous_strides(spec.sizes.span());
  bool is_empty = spec.numel().value() == 0;
  for (int i = 0; i < spec.rank(); ++i) {
    if (is_empty || spec.sizes[i].value() == 1) spec.strides[i] = contiguous[i];
  }
}

}  // namespace

PyBufferProcs tensor_as_buffer = {get_buffer, release_buffer};

std::optional<DType> dtype_of_format(const char* format, size_t size) {
  if (*format != '\0' && std::strchr("@=<>!|", *format) != nullptr) ++format;
  bool is_complex = *format == 'Z';
  if (std::strlen(format) != (is_complex ? 2 : 1)) return std::nullopt;
  // Of integers the size says which one.
  constexpr std::string_view kSigned = "bhilqn", kUnsigned = "BHILQN";
  auto is_among = [](std::string_view letters, char letter) { return letters.find(letter) != std::string_view::npos; };
  for (int i = 0; i < kDTypeCount; ++i) {
    const char* letter = kDTypes[i].names.buffer;
    if (letter == nullptr || kDTypes[i].size != size) continue;
    bool same_kind = (is_complex ? std::strcmp(letter, format) == 0 : *letter == *format) ||
                     (is_among(kSigned, *letter) && is_among(kSigned, *format)) ||
                     (is_among(kUnsigned, *letter) && is_among(kUnsigned, *format));
    if (same_kind) return static_cast<DType>(i);
  }
  return std::nullopt;
}

size_t spanned_bytes(const TensorSpec& spec) {
  int64_t last = 0;
  for (int i = 0; i < spec.rank(); ++i) {
    if (spec.sizes[i].value() == 0) return 0;
    last += (spec.sizes[i].value() - 1) * spec.strides[i].value();
  }
  return static_cast<size_t>(last + 1) * item_size(spec.dtype);
}

Tensor tensor_over_buffer(BorrowedRef exporter, const char* what, bool* writable) {
  auto holder = std::make_unique<BufferHolder>();
  if (PyObject_GetBuffer(exporter, &holder->view, PyBUF_RECORDS_RO) != 0) throw PythonError();
  const Py_buffer& view = holder->view;
  TensorSpec spec = spec_of_buffer(view, require_dtype(view, what), what);
  size_t bytes = spanned_bytes(spec);
  tidy_strides(spec);
  *writable = !view.readonly;
  void* data = view.buf;
  StoragePtr storage = Storage::borrow(data, bytes, drop_holder, holder.release());
  if (!*writable) storage->mark_read_only();
  return Tensor::from_storage(std::move(storage), 0, spec);
}

}  // namespace md
