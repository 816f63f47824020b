// Constants that guards compare by value: exact immutable built-ins, recursively.
#pragma once
#include <string>

#include "cpython/ref.h"

namespace md {

// None, bool, int, float, complex, str, bytes, Ellipsis, NotImplemented, what register_constant_type() added, and tuple, range and
// slice of them.
bool is_guardable_constant(BorrowedRef object);

// A NaN, or a tuple or frozenset of constants with one among them: equal to what holds the same object alone.
bool holds_nan(BorrowedRef constant);
// A type without subclasses whose objects are immutable, and whose comparison, hash and repr run no Python code: dtype, device.
void register_constant_type(PyTypeObject* type);
// Subclasses of tuple become the tuple that they equal, at every depth; anything else is itself.
Ref exact_constant(BorrowedRef object);
// Same exact type and same value, floats by bits, no Python code run. Both sides guardable constants.
bool identical_constants(BorrowedRef a, BorrowedRef b);
// What identical_constants does for two different objects of this type.
using SameConstant = bool (*)(PyObject* a, PyObject* b);
SameConstant same_constant_of(PyTypeObject* type);
// Equality as a dict sees it (1 == True == 1.0): 1, 0, or -1 when the stored key could run Python code.
int constant_key_equal(PyObject* stored, PyObject* key);
// The value of a constant key in an exact dict: 1 found, 0 not there, -1 cannot be said without running Python code.
int lookup_constant(PyObject* dict, PyObject* key, PyObject** value);

// Python's repr; for atoms only, so that no user code runs.
std::string repr_constant(BorrowedRef constant);

// Offset of an object member of a built-in type whose struct is private (property.fget); -1 if there is none.
Py_ssize_t object_member_offset(PyTypeObject* type, const char* member);
inline PyObject* object_member(PyObject* object, Py_ssize_t offset) {
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
}

}  // namespace md
