// len, iteration, indexing, membership.
#include "base/error.h"
#include "cpython/errors.h"
#include "frontends/arg_binding.h"
#include "frontends/eager.h"
#include "frontends/foreign_tensors.h"
#include "frontends/in_place.h"
#include "frontends/indexing.h"
#include "frontends/minidynamo/fast_call.h"
#include "frontends/minidynamo/op_dispatch.h"
#include "frontends/minidynamo/tensor_buffer.h"
#include "frontends/minidynamo/tensor_data.h"
#include "frontends/minidynamo/tensor_object.h"
#include "frontends/minidynamo/tensor_slots.h"
#include "tensor/ops/write_op.h"

namespace md {
namespace {

int64_t first_size(PyObject* self) { return tensor_of(self).spec().sizes[0].value(); }

Py_ssize_t length(PyObject* self) {
  if (tensor_of(self)->rank() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return first_size(self);
}

// A list, tuple or array in a key, as indices.
Tensor tensor_from_key(BorrowedRef key) { return tensor_from_data(key, std::nullopt); }

Tensor apply_steps(const Tensor& tensor, std::vector<IndexStep>& steps) {
  Tensor result = tensor;
  for (IndexStep& step : steps) {
    step.args[0] = result;
    result = apply_op(*step.row, step.args).at(0);
  }
  return result;
}

Tensor index_tensor(const Tensor& tensor, BorrowedRef key) {
  IndexPlan plan = index_plan(tensor.spec(), key, tensor_from_key);
  Tensor view = apply_steps(tensor, plan.steps);
  if (!plan.indices.empty()) return apply_named("index", {view, plan.indices, plan.dims});
  return plan.steps.empty() ? apply_named("alias", {view}) : view;
}

// What x[key] = value accepts besides tensors and numbers: arrays.
Arg value_to_store(BorrowedRef value) {
  static const OpRow* const copy = find_op("fill");
  if (is_tensor(value)) return tensor_of(value);
  bool is_number = PyFloat_Check(value.get()) || PyLong_Check(value.get());
  if (!is_number && PyObject_CheckBuffer(value.get()) && PyObject_HasAttrString(value, "__array_interface__")) {
    bool writable = false;
    return tensor_over_buffer(value, "__setitem__", &writable);
  }
  if (is_foreign_tensor(value)) raise_foreign_tensor("__setitem__", value);
  if (!is_number && PySequence_Check(value.get())) {
    raise(ErrorKind::Type, "can't assign a ", value.type()->tp_name, " to a minidynamo.Tensor");
  }
  try {
    return arg_from_python(*copy, copy->schema.params[1], value);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Overflow) throw;
    raise(ErrorKind::Value, "Overflow when unpacking long long");
  }
}

// The value without leading dims of size one that the target does not have, in the target's sizes: unlike copy_, a
// store may broadcast a part of what it writes.
Tensor in_sizes_of(const Tensor& target, const Tensor& value) {
  Tensor result = value;
  while (result->rank() > target->rank() && result->sizes()[0] == 1) {
    result = apply_named("select", {result, Scalar(int64_t{0}), Scalar(int64_t{0})});
  }
  return same(result.spec().sizes, target.spec().sizes) ? result : apply_named("expand", {result, target.spec().sizes});
}

void write_named(const char* op, std::vector<Arg> args) {
  const OpRow* row = find_op(op);
  MD_ASSERT(row != nullptr, op);
  fill_defaults(*row, args);
  apply_in_place(*row, args);
}

bool is_one_number(const Arg& value) {
  const Tensor* tensor = std::get_if<Tensor>(&value);
  return tensor == nullptr || (*tensor)->rank() == 0;
}

void store(const Tensor& tensor, BorrowedRef key, BorrowedRef object) {
  IndexPlan plan = index_plan(tensor.spec(), key, tensor_from_key);
  Arg value = value_to_store(object);
  Tensor view = apply_steps(tensor, plan.steps);
  if (plan.indices.empty()) {
    if (const Tensor* source = std::get_if<Tensor>(&value)) {
      return write_named("copy", {view, in_sizes_of(view, *source)});
    }
    // fill_ writes the same value everywhere and accepts these; an assignment does not.
    if (view->kind() == TensorKind::Real) require_elements_apart(*find_op("fill"), view);
    return write_named("fill", {view, value});
  }
  if (plan.mask.defined() && is_one_number(value)) {
    Tensor mask = plan.mask;
    while (mask->rank() < view->rank()) mask = apply_named("unsqueeze", {mask, Scalar(int64_t{-1})});
    return write_named("masked_fill", {view, mask, value});
  }
  write_named("index_put", {view, plan.indices, plan.dims, value});
}

PyObject* subscript(PyObject* self, PyObject* key) {
  try {
    return wrap_tensor(index_tensor(tensor_of(self), key)).release();
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

// Called by sequence iteration, which ends with IndexError.
PyObject* item(PyObject* self, Py_ssize_t index) {
  if (tensor_of(self)->rank() > 0 && index >= first_size(self)) {
    PyErr_SetString(PyExc_IndexError, "index out of range");
    return nullptr;
  }
  Ref key = Ref::steal(PyLong_FromSsize_t(index));
  return key ? subscript(self, key) : nullptr;
}

int assign(PyObject* self, PyObject* key, PyObject* value) {
  try {
    if (value == nullptr) raise(ErrorKind::Type, "Tensor does not support deleting items");
    if (tensor_of(self)->kind() != TensorKind::Real) require_no_leaf_write(self);
    store(tensor_of(self), key, value);
    return 0;
  } catch (...) {
    set_error_from_current_exception();
    return -1;
  }
}

// (element == self).any(), as in torch.
int contains(PyObject* self, PyObject* element) {
  bool comparable = is_tensor(element) || PyFloat_Check(element) || PyLong_Check(element);
  if (!comparable) {
    PyErr_Format(PyExc_RuntimeError, "Tensor.__contains__ only supports Tensor or scalar, but you passed in a %s.",
                 Py_TYPE(element)->tp_name);
    return -1;
  }
  Ref equal = Ref::steal(tensor_compare(self, element, Py_EQ));
  if (!equal) return -1;
  Ref any = Ref::steal(PyObject_CallMethod(equal, "any", nullptr));
  return any ? PyObject_IsTrue(any) : -1;
}

}  // namespace

PySequenceMethods tensor_as_sequence = {
    .sq_length = length,
    .sq_concat = nullptr,
    .sq_repeat = nullptr,
    .sq_item = item,
    .was_sq_slice = nullptr,
    .sq_ass_item = nullptr,
    .was_sq_ass_slice = nullptr,
    .sq_contains = contains,
    .sq_inplace_concat = nullptr,
    .sq_inplace_repeat = nullptr,
};
PyMappingMethods tensor_as_mapping = {length, subscript, assign};

namespace {

// Views of one call, which under gradients may not be written in place.
PyObject* rows_of_one_call(const Tensor& tensor) try {
  static const OpRow* const unbind = find_op("unbind");
  Arg args[] = {tensor, Scalar(int64_t{0})};
  std::vector<Tensor> rows = apply_op(*unbind, args);
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(rows.size())));
  for (size_t i = 0; i < rows.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_tensor(std::move(rows[i])).release());
  return check(PyObject_GetIter(tuple)).release();
} catch (...) {
  set_error_from_current_exception();
  return nullptr;
}

}  // namespace

PyObject* tensor_iter(PyObject* self) {
  if (tensor_of(self)->rank() == 0) {
    PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor");
    return nullptr;
  }
  if (tensor_of(self)->kind() == TensorKind::Real && tensor_of(self).requires_grad())
    return rows_of_one_call(tensor_of(self));
  // All rows at once, as in torch: a tuple of views.
  Py_ssize_t count = length(self);
  Ref rows = Ref::steal(PyTuple_New(count));
  for (Py_ssize_t i = 0; rows && i < count; ++i) {
    PyObject* row = item(self, i);
    if (row == nullptr) return nullptr;
    PyTuple_SET_ITEM(rows.get(), i, row);
  }
  return rows ? PyObject_GetIter(rows) : nullptr;
}

}  // namespace md
