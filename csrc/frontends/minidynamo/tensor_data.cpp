#include "frontends/minidynamo/tensor_data.h"
#include "autograd/grad_history.h"

#include <vector>

#include "base/error.h"
#include "frontends/device_object.h"
#include "frontends/dtype_object.h"
#include "frontends/eager.h"
#include "frontends/foreign_tensors.h"
#include "frontends/minidynamo/fast_call.h"
#include "frontends/minidynamo/tensor_buffer.h"
#include "frontends/minidynamo/tensor_dlpack.h"
#include "frontends/minidynamo/tensor_elements.h"
#include "frontends/minidynamo/tensor_object.h"
#include "frontends/promotion.h"

namespace md {
namespace {

// Deeper nesting means a sequence that contains itself.
constexpr int kMaxRank = 64;

// str and bytes are sequences of themselves: not descended into.
Tensor tensor_over_foreign(BorrowedRef data);

bool is_sequence(BorrowedRef data) {
  if (PyList_Check(data.get()) || PyTuple_Check(data.get())) return true;
  if (PyUnicode_Check(data.get()) || PyBytes_Check(data.get()) || PyByteArray_Check(data.get())) return false;
  if (is_tensor(data)) return tensor_of(data)->rank() > 0;
  if (is_foreign_tensor(data)) return tensor_over_foreign(data)->rank() > 0;
  if (!PySequence_Check(data.get())) return false;
  bool has_length = PySequence_Size(data) >= 0;  // a 0-d array has none
  if (!has_length) PyErr_Clear();
  return has_length;
}

[[noreturn]] void raise_no_number(BorrowedRef data) {
  if (PyUnicode_Check(data.get()) || PyBytes_Check(data.get())) {
    raise(ErrorKind::Type, "tensor(): invalid data type '", data.type()->tp_name, "'");
  }
  raise(ErrorKind::Runtime, "tensor(): Could not infer dtype of ", data.type()->tp_name);
}

// Shares the memory; for a tensor that requires grad, of its detached values.
Tensor tensor_over_foreign(BorrowedRef data) {
  return tensor_from_dlpack(foreign_requires_grad(data) ? check(PyObject_CallMethod(data, "detach", nullptr))
                                                        : Ref::share(data));
}

// A list or tuple of the same items.
Ref items_of(BorrowedRef data) {
  Ref sequence = is_foreign_tensor(data) ? wrap_tensor(tensor_over_foreign(data)) : Ref::share(data);
  return check(PySequence_Fast(sequence, "tensor(): expected a sequence"));
}

DimVec sizes_of(BorrowedRef data) {
  DimVec sizes;
  Ref item = Ref::share(data);
  while (is_sequence(item)) {
    if (sizes.size() == kMaxRank) raise(ErrorKind::Value, "tensor(): too many dimensions '", item.type()->tp_name, "'");
    Ref items = items_of(item);
    Py_ssize_t length = PySequence_Fast_GET_SIZE(items.get());
    sizes.push_back(length);
    if (length == 0) break;
    item = Ref::share(PySequence_Fast_GET_ITEM(items.get(), 0));
    // A one-character str is a sequence of itself.
    if (PyUnicode_Check(item.get())) raise(ErrorKind::Value, "tensor(): too many dimensions 'str'");
  }
  return sizes;
}

// A leaf's dtype: NumPy scalars and 0-d tensors have their own.
DType leaf_dtype(BorrowedRef leaf) {
  if (PyBool_Check(leaf.get())) return DType::bool_;
  if (PyLong_Check(leaf.get())) return DType::int64;
  if (PyFloat_Check(leaf.get())) return scalar_dtype(DTypeCategory::Floating);
  if (PyComplex_CheckExact(leaf.get())) return scalar_dtype(DTypeCategory::Complex);
  if (is_tensor(leaf)) return tensor_of(leaf)->dtype();
  if (is_foreign_tensor(leaf)) return tensor_over_foreign(leaf)->dtype();
  if (PyObject_CheckBuffer(leaf.get()) && !PyBytes_Check(leaf.get()) && !PyByteArray_Check(leaf.get())) {
    bool writable = false;
    return tensor_over_buffer(leaf, "tensor()", &writable)->dtype();
  }
  PyNumberMethods* methods = leaf.type()->tp_as_number;
  if (methods != nullptr && methods->nb_index != nullptr) return DType::int64;
  if (methods != nullptr && methods->nb_float != nullptr) return scalar_dtype(DTypeCategory::Floating);
  raise_no_number(leaf);
}

// Visits the leaves in order, checking that the nesting matches that of the first items.
template <typename Visit>
void for_each_leaf(BorrowedRef data, std::span<const Dim> sizes, size_t depth, Visit visit) {
  if (depth == sizes.size()) {
    if (is_sequence(data)) {
      raise(ErrorKind::Type, "tensor(): expected a number at dim ", depth, ", got a sequence of type '",
            data.type()->tp_name, "'");
    }
    visit(data);
    return;
  }
  if (!is_sequence(data)) {
    raise(ErrorKind::Type, "tensor(): expected a sequence at dim ", depth, ", got an object of type '",
          data.type()->tp_name, "'");
  }
  Ref items = items_of(data);
  Py_ssize_t length = PySequence_Fast_GET_SIZE(items.get());
  if (length != sizes[depth].value()) {
    raise(ErrorKind::Value, "tensor(): expected sequence of length ", sizes[depth].value(), " at dim ", depth, " (got ",
          length, ")");
  }
  for (Py_ssize_t i = 0; i < length; ++i) {
    // Converting a leaf may run Python code that changes the list: re-reads its size.
    if (i >= PySequence_Fast_GET_SIZE(items.get())) {
      raise(ErrorKind::Value, "tensor(): the sequence changed its length while it was read");
    }
    Ref item = Ref::share(PySequence_Fast_GET_ITEM(items.get(), i));
    for_each_leaf(item, sizes, depth + 1, visit);
  }
}

DType find_dtype(BorrowedRef data, std::span<const Dim> sizes) {
  std::optional<DType> found;
  for_each_leaf(data, sizes, 0, [&](BorrowedRef leaf) {
    DType dtype = leaf_dtype(leaf);
    found = found ? promote_types(*found, dtype) : dtype;
  });
  return found ? *found : scalar_dtype(DTypeCategory::Floating);
}

Tensor tensor_from_sequence(BorrowedRef data, std::optional<DType> dtype) {
  DimVec sizes = sizes_of(data);
  if (!dtype) dtype = find_dtype(data, sizes.span());
  Tensor result = Tensor::empty(TensorSpec::contiguous(*dtype, sizes));
  char* out = result.data<char>();
  char* end = out + result->numel() * static_cast<int64_t>(item_size(*dtype));
  for_each_leaf(data, sizes.span(), 0, [&](BorrowedRef leaf) {
    if (PyUnicode_Check(leaf.get()) || PyBytes_Check(leaf.get()) || leaf.get() == Py_None) {
      raise_no_number(leaf);
    }
    MD_ASSERT(out < end);
    if (is_foreign_tensor(leaf)) {
      element_from_python(*dtype, out, tensor_to_number(tensor_over_foreign(leaf), "tensor"));
    } else {
      element_from_python(*dtype, out, leaf);
    }
    out += item_size(*dtype);
  });
  return result;
}

// In the requested dtype, in row-major order, without requires_grad.
Tensor copy_of(const Tensor& tensor, std::optional<DType> dtype) {
  bool same = !dtype || *dtype == tensor->dtype();
  Tensor copy = same ? apply_named("clone", {tensor}) : apply_named("cast", {tensor, *dtype});
  forget_history(copy);
  return copy;
}

bool is_array(BorrowedRef data) {
  return PyObject_CheckBuffer(data.get()) && !PyBytes_Check(data.get()) && !PyByteArray_Check(data.get());
}

Ref wrap_leaf(Tensor tensor, bool requires_grad) {
  if (requires_grad && !is_floating(tensor->dtype()) && !is_complex(tensor->dtype())) {
    raise(ErrorKind::Runtime, "Only Tensors of floating point and complex dtype can require gradients");
  }
  if (tensor.requires_grad() != requires_grad) tensor.set_requires_grad(requires_grad);
  Ref object = wrap_tensor(std::move(tensor));
  as_tensor_object(object)->user_leaf = requires_grad;
  return object;
}

}  // namespace

bool foreign_requires_grad(BorrowedRef data) {
  static PyObject* const kRequiresGrad = PyUnicode_InternFromString("requires_grad");
  if (!is_foreign_tensor(data)) return false;
  Ref flag = Ref::steal(PyObject_GetAttr(data, kRequiresGrad));
  if (!flag) PyErr_Clear();
  return flag.get() == Py_True;
}

Ref wrap_shared(BorrowedRef data, Tensor tensor) {
  bool requires_grad = is_floating(tensor->dtype()) && foreign_requires_grad(data);
  return requires_grad ? wrap_leaf(std::move(tensor), true) : wrap_tensor(std::move(tensor));
}

std::optional<DType> read_dtype(const char* function, BorrowedRef value) {
  if (!value || value.get() == Py_None) return std::nullopt;
  if (std::optional<DType> dtype = dtype_from_python(value)) return dtype;
  raise(ErrorKind::Type, function, "(): argument 'dtype' must be minidynamo.dtype, not ", value.type()->tp_name);
}

void check_device(const char* function, BorrowedRef value) {
  if (value) device_from_python(value, str_cat(function, "(): argument 'device'"));
}

Ref leaf_from_call(const char* function, std::optional<DType> dtype, PyObject* const* args, Py_ssize_t arg_count,
                   PyObject* kw_names) {
  std::vector<PyObject*> values =
      read_args(function, {"data", "*", "dtype?", "device?", "requires_grad?"}, args, arg_count, kw_names);
  check_device(function, values[2]);
  bool requires_grad = read_bool(function, "requires_grad", values[3], false);
  if (std::optional<DType> wanted = read_dtype(function, values[1])) dtype = wanted;
  return wrap_leaf(tensor_from_data(values[0], dtype), requires_grad);
}

Tensor tensor_from_data(BorrowedRef data, std::optional<DType> dtype) {
  if (is_tensor(data)) return copy_of(tensor_of(data), dtype);
  if (is_array(data)) {
    bool writable = false;
    return copy_of(tensor_over_buffer(data, "tensor()", &writable), dtype);
  }
  if (is_foreign_tensor(data)) return copy_of(tensor_over_foreign(data), dtype);
  return tensor_from_sequence(data, dtype);
}

Tensor tensor_sharing_data(BorrowedRef data, std::optional<DType> dtype) {
  Tensor tensor;
  bool writable = false;
  if (is_tensor(data)) {
    tensor = tensor_of(data);
  } else if (is_array(data)) {
    tensor = tensor_over_buffer(data, "as_tensor()", &writable);
  } else if (is_foreign_tensor(data)) {
    tensor = tensor_over_foreign(data);
  } else {
    return tensor_from_sequence(data, dtype);
  }
  return !dtype || *dtype == tensor->dtype() ? tensor : copy_of(tensor, dtype);
}

}  // namespace md
