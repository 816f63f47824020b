#include "cpython/errors.h"

#include <new>
#include <stdexcept>

#include "cpython/imports.h"

namespace md {
namespace {

// Returns null, with an ImportError set, only in a broken installation.
Ref class_of_ours(const char* module_name, const char* name) {
  try {
    return imported(module_name, name);
  } catch (const PythonError&) {
    return nullptr;
  }
}

Ref internal_error_class() { return class_of_ours("minidynamo._dynamo.exc", "InternalError"); }

Ref exception_class(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Type:
      return Ref::share(PyExc_TypeError);
    case ErrorKind::Value:
      return Ref::share(PyExc_ValueError);
    case ErrorKind::Runtime:
      return Ref::share(PyExc_RuntimeError);
    case ErrorKind::Index:
      return Ref::share(PyExc_IndexError);
    case ErrorKind::Key:
      return Ref::share(PyExc_KeyError);
    case ErrorKind::Attribute:
      return Ref::share(PyExc_AttributeError);
    case ErrorKind::NotImplemented:
      return Ref::share(PyExc_NotImplementedError);
    case ErrorKind::Memory:
      return Ref::share(PyExc_MemoryError);
    case ErrorKind::Overflow:
      return Ref::share(PyExc_OverflowError);
    case ErrorKind::Import:
      return Ref::share(PyExc_ImportError);
    case ErrorKind::LinearAlgebra:
      return class_of_ours("minidynamo.linalg", "LinAlgError");
    case ErrorKind::Internal:
      return internal_error_class();
  }
  return internal_error_class();
}

void set_error(ErrorKind kind, const char* message) {
  Ref type = exception_class(kind);
  if (type) PyErr_SetString(type, message);
}

}  // namespace

void set_error_from_current_exception() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
    if (PyErr_Occurred() == nullptr) set_error(ErrorKind::Internal, "a Python call failed without an exception");
  } catch (const Error& error) {
    set_error(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    set_error(ErrorKind::Internal, error.what());
  } catch (...) {
    set_error(ErrorKind::Internal, "an unknown C++ exception");
  }
}

bool was_want_of_memory() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
    if (PyErr_ExceptionMatches(PyExc_MemoryError) == 0) return false;
    PyErr_Clear();
    return true;
  } catch (const Error& error) {
    return error.kind() == ErrorKind::Memory;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

void add_attribute_context(BorrowedRef object, BorrowedRef name) {
  if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (PyErr_GivenExceptionMatches(value, PyExc_AttributeError) != 0) {
    auto* error = reinterpret_cast<PyAttributeErrorObject*>(value);
    if (error->name == nullptr && error->obj == nullptr) {
      error->name = Py_NewRef(name.get());
      error->obj = Py_NewRef(object.get());
    }
  }
  PyErr_Restore(type, value, traceback);
}

Ref take_raised() {
#if PY_VERSION_HEX >= 0x030C0000
  return Ref::steal(PyErr_GetRaisedException());
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyException_SetTraceback(value, traceback != nullptr ? traceback : Py_None);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return Ref::steal(value);
#endif
}

void set_raised(Ref exception) {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(exception.release());
#else
  PyObject* type = Py_NewRef(reinterpret_cast<PyObject*>(exception.type()));
  PyObject* traceback = PyException_GetTraceback(exception);
  PyErr_Restore(type, exception.release(), traceback);
#endif
}

}  // namespace md
