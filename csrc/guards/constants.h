// Constants that guards compare by value: exact immutable built-ins, recursively.
#pragma once
#include <string>

#include "cpython/ref.h"

namespace md {

// None, bool, int, float, complex, str, bytes, Ellipsis, NotImplemented, types added by register_constant_type(), and
// tuples, ranges and slices of them.
bool is_guardable_constant(BorrowedRef object);

// Whether it is a NaN, or a tuple or frozenset of constants containing one: these equal only
// containers of the same object.
bool holds_nan(BorrowedRef constant);
// Registers a type without subclasses whose objects are immutable and whose comparison, hash and repr run
// no Python code: dtype, device.
void register_constant_type(PyTypeObject* type);
// Converts instances of tuple subclasses to plain tuples, at every depth; returns anything else unchanged.
Ref exact_constant(BorrowedRef object);
// Whether type and value are the same, comparing floats by bits; runs no Python code. Both must be guardable constants.
bool identical_constants(BorrowedRef a, BorrowedRef b);
// Implements identical_constants for two distinct objects of one type.
using SameConstant = bool (*)(PyObject* a, PyObject* b);
SameConstant same_constant_of(PyTypeObject* type);
// Equality as in a dict lookup (1 == True == 1.0): 1, 0, or -1 if comparing could run Python code of a key. The keys
// are constants, objects equal to themselves alone, and tuples of them.
int constant_key_equal(PyObject* stored, PyObject* key);
// Looks up a constant key in an exact dict: returns 1 if found, 0 if absent, -1 if unknown without running Python code.
int lookup_constant(PyObject* dict, PyObject* key, PyObject** value);

// Python's repr; for atoms only, so that no user code runs.
std::string repr_constant(BorrowedRef constant);

// Offset of an object member of a built-in type with a private struct (property.fget); -1 if there is none.
Py_ssize_t object_member_offset(PyTypeObject* type, const char* member);
inline PyObject* object_member(PyObject* object, Py_ssize_t offset) {
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
}

}  // namespace md
