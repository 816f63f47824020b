// len, iteration, indexing, membership.
#include "bindings/tensor_object.h"
#include "bindings/tensor_slots.h"
#include "cpython/errors.h"
#include "frontends/eager.h"
#include "frontends/indexing.h"

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

Tensor index_tensor(const Tensor& tensor, BorrowedRef key) {
  Tensor result = tensor;
  for (IndexStep& step : index_steps(tensor.spec(), key)) {
    step.args[0] = result;
    result = apply_op(*step.row, step.args).at(0);
  }
  return result;
}

PyObject* subscript(PyObject* self, PyObject* key) {
  try {
    return wrap_tensor(index_tensor(tensor_of(self), key)).release();
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

// Called by sequence iteration with the end found by IndexError.
PyObject* item(PyObject* self, Py_ssize_t index) {
  if (tensor_of(self)->rank() > 0 && index >= first_size(self)) {
    PyErr_SetString(PyExc_IndexError, "index out of range");
    return nullptr;
  }
  Ref key = Ref::steal(PyLong_FromSsize_t(index));
  return key ? subscript(self, key) : nullptr;
}

int assign(PyObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_NotImplementedError, "Tensor.__setitem__ is not implemented: build a new tensor instead");
  return -1;
}

// (element == self).any(), as torch has it.
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

PyObject* tensor_iter(PyObject* self) {
  if (tensor_of(self)->rank() == 0) {
    PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor");
    return nullptr;
  }
  return PySeqIter_New(self);
}

}  // namespace md
