// Routines of NumPy on the tensors' own memory: decompositions of matrices, Fourier transforms.
#include "base/host_hooks.h"
#include "tensor/kernels/numpy_routine.h"

#include "bindings/bindings.h"
#include "cpython/errors.h"
#include "cpython/gil_scope.h"
#include "cpython/imports.h"
#include "cpython/text.h"
#include "snapshot/serving_code.h"

namespace md {
namespace {

// (memory, dtype's name, sizes, strides in bytes) of a contiguous tensor, which must
// outlive it: the call keeps no array.
Ref described(const Tensor& tensor, int access) {
  static char nothing;
  auto bytes = static_cast<Py_ssize_t>(static_cast<size_t>(tensor->numel()) * item_size(tensor->dtype()));
  Ref memory = check(PyMemoryView_FromMemory(bytes == 0 ? &nothing : tensor.data<char>(), bytes, access));
  Ref sizes = check(PyTuple_New(tensor->rank())), strides = check(PyTuple_New(tensor->rank()));
  for (int i = 0; i < tensor->rank(); ++i) {
    PyTuple_SET_ITEM(sizes.get(), i, check(PyLong_FromLongLong(tensor->sizes()[i])).release());
    int64_t stride = tensor->strides()[i] * static_cast<int64_t>(item_size(tensor->dtype()));
    PyTuple_SET_ITEM(strides.get(), i, check(PyLong_FromLongLong(stride)).release());
  }
  return check(Py_BuildValue("(OsOO)", memory.get(), row(tensor->dtype()).name, sizes.get(), strides.get()));
}

Ref described(std::span<const Tensor> tensors, int access) {
  Ref list = check(PyList_New(0));
  for (const Tensor& tensor : tensors) check_status(PyList_Append(list, described(tensor, access)));
  return list;
}

void call_python(const NumpyRoutine& job) {
  Ref run = imported("minidynamo._numpy_routines", "run");
  Ref operands = described(job.operands, PyBUF_READ), results = described(job.results, PyBUF_WRITE);
  Ref tolerance = job.tolerance ? check(PyFloat_FromDouble(*job.tolerance)) : Ref::share(Py_None);
  Ref routine = check(PyUnicode_FromStringAndSize(job.routine.data(), static_cast<Py_ssize_t>(job.routine.size())));
  Ref mode = check(PyUnicode_FromStringAndSize(job.mode.data(), static_cast<Py_ssize_t>(job.mode.size())));
  check(PyObject_CallFunctionObjArgs(run, routine.get(), operands.get(), mode.get(), tolerance.get(), results.get(),
                                     nullptr));
}

bool is_linear_algebra_error(BorrowedRef type) {
  const char* name = reinterpret_cast<PyTypeObject*>(type.get())->tp_name;
  return std::string_view(name).ends_with("LinAlgError");
}

struct Failure {
  ErrorKind kind = ErrorKind::Runtime;
  std::string text = "failed";
};

// Clears the exception.
Failure take_failure() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref held_type = Ref::steal(type), held_value = Ref::steal(value), held_traceback = Ref::steal(traceback);
  Failure failure;
  if (PyErr_GivenExceptionMatches(type, PyExc_ImportError)) failure.kind = ErrorKind::Import;
  if (PyErr_GivenExceptionMatches(type, PyExc_MemoryError)) failure.kind = ErrorKind::Memory;
  if (is_linear_algebra_error(type)) failure.kind = ErrorKind::LinearAlgebra;
  Ref text = value == nullptr ? Ref() : Ref::steal(PyObject_Str(value));
  PyErr_Clear();
  if (text) failure.text = text_of(text);
  return failure;
}

// A plan that fails is run again op by op, which raises the exception anew: so an interrupt must be raised again, too.
[[noreturn]] void raise_as_error(const NumpyRoutine& job) {
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  Failure failure = take_failure();
  raise_op(failure.kind, job.routine, failure.text);
}

void run_numpy(const NumpyRoutine& job) {
  GilScope gil;
  ServingCode serving;
  try {
    call_python(job);
  } catch (const PythonError&) {
    raise_as_error(job);
  }
}

}  // namespace

void bind_numpy_routines(pybind11::module_&) { host_hooks.run_numpy_routine = run_numpy; }

}  // namespace md
