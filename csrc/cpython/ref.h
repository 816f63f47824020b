// Owned and borrowed PyObject references. Every stored PyObject* is one of these.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <functional>
#include <utility>

namespace md {

// Does not own; may be null. Implicit from PyObject*, so that parameters can be BorrowedRef.
class BorrowedRef {
 public:
  BorrowedRef() = default;
  BorrowedRef(std::nullptr_t) {}
  BorrowedRef(PyObject* object) : object_(object) {}
  PyObject* get() const { return object_; }
  operator PyObject*() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  PyTypeObject* type() const { return Py_TYPE(object_); }

 private:
  PyObject* object_ = nullptr;
};

// Owns one reference; may be null.
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const Ref& other) : object_(Py_XNewRef(other.object_)) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  // Takes over a reference that the caller owns (the result of a "new reference" API).
  static Ref steal(PyObject* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  // Adds a new reference.
  static Ref share(PyObject* object) { return steal(Py_XNewRef(object)); }

  PyObject* get() const { return object_; }
  operator PyObject*() const& { return object_; }
  operator BorrowedRef() const& { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  PyTypeObject* type() const { return Py_TYPE(object_); }
  // Transfers the reference to the caller.
  PyObject* release() { return std::exchange(object_, nullptr); }
  void reset() { Ref().swap(*this); }
  void swap(Ref& other) noexcept { std::swap(object_, other.object_); }

 private:
  PyObject* object_ = nullptr;
};

// A Python exception is set in the thread state; unwinds C++ up to the boundary.
struct PythonError {};

// For "new reference" APIs: takes the result; throws PythonError on null.
inline Ref check(PyObject* result) {
  if (result == nullptr) throw PythonError();
  return Ref::steal(result);
}
inline void check_status(int status) {
  if (status < 0) throw PythonError();
}

}  // namespace md
