// NumPy as it is loaded in this process: the functions of its C API, from the capsule `_ARRAY_API`, and its objects for
// our dtypes. Nothing of NumPy is needed at build time or linked.
#pragma once
#include <array>
#include <cstddef>

#include "cpython/ref.h"
#include "tensor/dtype.h"

namespace md::numpy {

// The fields of an ndarray that NumPy's C API makes public: PyArrayObject_fields of ndarraytypes.h.
struct ArrayObject {
  PyObject_HEAD char* data;
  int rank;
  Py_ssize_t* sizes;
  Py_ssize_t* strides;  // in bytes
  PyObject* base;
  PyObject* descr;
  int flags;
};
static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));

// NPY_ARRAY_ALIGNED, NPY_ARRAY_WRITEABLE
inline constexpr int kAligned = 0x0100, kWriteable = 0x0400, kWarnsOnWrite = INT32_MIN;

// Entries of the capsule, by their numbers in NumPy's C API.
struct ArrayApi {
  PyObject* (*descr_from_type)(int type_number);                // 45 PyArray_DescrFromType
  PyObject* (*scalar)(void* data, PyObject* descr, PyObject*);  // 60 PyArray_Scalar
  PyObject* (*new_from_descr)(PyTypeObject* type, PyObject* descr, int rank, const Py_ssize_t* sizes,
                              const Py_ssize_t* strides, void* data, int flags, PyObject*);  // 94: steals descr
  int (*set_base_object)(PyObject* array, PyObject* base);                                   // 282: steals base
};

// Objects are never released.
struct NumpyLibrary {
  PyTypeObject* array;                             // numpy.ndarray
  std::array<PyObject*, kDTypeCount> descrs;       // by dtype; null: NumPy has none
  std::array<PyTypeObject*, kDTypeCount> scalars;  // the types of rank-0 results; null likewise
  PyTypeObject* ufunc;                             // numpy.ufunc
  PyObject* asarray;                               // numpy.asarray
  PyObject* error_state;                           // the context variable of numpy.errstate
  PyObject* make_error_state;                      // what makes its values
  ArrayApi functions;
};

// The loaded NumPy; valid after load().
NumpyLibrary& library();
// Finds what is above; umath: the module with its C API. Throws PythonError.
void load(BorrowedRef numpy, BorrowedRef umath);

// False: no dtype of ours.
bool dtype_of_descr(const PyObject* descr, DType& dtype);
bool dtype_of_scalar_type(const PyTypeObject* type, DType& dtype);

}  // namespace md::numpy
