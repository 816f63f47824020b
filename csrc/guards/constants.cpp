#include "guards/constants.h"

#include <structmember.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "cpython/dict_probe.h"
#include "cpython/object_layout.h"
#include "cpython/text.h"

namespace md {
namespace {

// Deeper nesting is not worth a guard, and the recursion stays bounded.
constexpr int kMaxNesting = 50;

struct RangeOffsets {
  Py_ssize_t start = object_member_offset(&PyRange_Type, "start");
  Py_ssize_t stop = object_member_offset(&PyRange_Type, "stop");
  Py_ssize_t step = object_member_offset(&PyRange_Type, "step");
};
const RangeOffsets& range_offsets() {
  static const RangeOffsets offsets;
  return offsets;
}

bool always(PyObject*, int) { return true; }

bool is_constant(PyObject* object, int nesting);

bool tuple_is_constant(PyObject* tuple, int nesting) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (!is_constant(PyTuple_GET_ITEM(tuple, i), nesting + 1)) return false;
  }
  return true;
}

bool frozenset_is_constant(PyObject* set, int nesting) {
  Py_ssize_t position = 0;
  PyObject* item = nullptr;
  while (pv_next_in_set(set, &position, &item) != 0)
    if (!is_constant(item, nesting + 1)) return false;
  return true;
}

bool slice_is_constant(PyObject* object, int nesting) {
  auto* slice = reinterpret_cast<PySliceObject*>(object);
  return is_constant(slice->start, nesting + 1) && is_constant(slice->stop, nesting + 1) &&
         is_constant(slice->step, nesting + 1);
}

bool same_pointer(PyObject* a, PyObject* b) { return a == b; }

bool same_int(PyObject* a, PyObject* b) {
  Ref equal = Ref::steal(PyLong_Type.tp_richcompare(a, b, Py_EQ));
  return equal.get() == Py_True;
}

// A NaN is the same as itself, and -0.0 is not the same as 0.0.
bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

bool same_float(PyObject* a, PyObject* b) { return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b)); }

bool same_complex(PyObject* a, PyObject* b) {
  const Py_complex& x = reinterpret_cast<PyComplexObject*>(a)->cval;
  const Py_complex& y = reinterpret_cast<PyComplexObject*>(b)->cval;
  return same_bits(x.real, y.real) && same_bits(x.imag, y.imag);
}

bool same_str(PyObject* a, PyObject* b) {
  return PyUnicode_GET_LENGTH(a) == PyUnicode_GET_LENGTH(b) && PyUnicode_Compare(a, b) == 0;
}

bool same_bytes(PyObject* a, PyObject* b) {
  Py_ssize_t size = PyBytes_GET_SIZE(a);
  return size == PyBytes_GET_SIZE(b) && std::memcmp(PyBytes_AS_STRING(a), PyBytes_AS_STRING(b), size) == 0;
}

bool same_tuple(PyObject* a, PyObject* b) {
  Py_ssize_t size = PyTuple_GET_SIZE(a);
  if (size != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!identical_constants(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  }
  return true;
}

// The order counts too: the frozenset may have been iterated over.
bool same_frozenset(PyObject* a, PyObject* b) {
  if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return false;
  Py_ssize_t left = 0, right = 0;
  PyObject *x = nullptr, *y = nullptr;
  while (pv_next_in_set(a, &left, &x) != 0 && pv_next_in_set(b, &right, &y) != 0)
    if (!identical_constants(x, y)) return false;
  return true;
}

bool same_range(PyObject* a, PyObject* b) {
  const RangeOffsets& at = range_offsets();
  for (Py_ssize_t offset : {at.start, at.stop, at.step}) {
    if (!identical_constants(object_member(a, offset), object_member(b, offset))) return false;
  }
  return true;
}

bool same_slice(PyObject* a, PyObject* b) {
  auto* x = reinterpret_cast<PySliceObject*>(a);
  auto* y = reinterpret_cast<PySliceObject*>(b);
  return identical_constants(x->start, y->start) && identical_constants(x->stop, y->stop) &&
         identical_constants(x->step, y->step);
}

struct ConstantType {
  PyTypeObject* type;
  bool (*is_constant)(PyObject* object, int nesting);
  SameConstant same;
};

// Most likely first. The members of a range are always exact ints.
const ConstantType kConstantTypes[] = {
    {&PyLong_Type, always, same_int},
    {&PyUnicode_Type, always, same_str},
    {&PyBool_Type, always, same_pointer},
    {&PyFloat_Type, always, same_float},
    {Py_TYPE(Py_None), always, same_pointer},
    {&PyTuple_Type, tuple_is_constant, same_tuple},
    {&PyBytes_Type, always, same_bytes},
    {&PySlice_Type, slice_is_constant, same_slice},
    {&PyRange_Type, always, same_range},
    {&PyComplex_Type, always, same_complex},
    {&PyFrozenSet_Type, frozenset_is_constant, same_frozenset},
    {&PyEllipsis_Type, always, same_pointer},
    {Py_TYPE(Py_NotImplemented), always, same_pointer},
};

std::vector<ConstantType>& registered_types() {
  static auto* types = new std::vector<ConstantType>();
  return *types;
}

bool same_value(PyObject* a, PyObject* b) { return PyObject_RichCompareBool(a, b, Py_EQ) == 1; }

// Of a type with `tzinfo`, which may be an object of the program.
bool has_no_zone(PyObject* object, int) {
  return Ref::steal(PyObject_GetAttrString(object, "tzinfo")).get() == Py_None;
}

// Moments without a time zone are compared without their `fold`.
bool same_moment(PyObject* a, PyObject* b) {
  Ref one = Ref::steal(PyObject_GetAttrString(a, "fold")), other = Ref::steal(PyObject_GetAttrString(b, "fold"));
  return same_value(one, other) && same_value(a, b);
}

const ConstantType* find_constant_type(PyTypeObject* type) {
  for (const ConstantType& row : kConstantTypes) {
    if (row.type == type) return &row;
  }
  for (const ConstantType& row : registered_types()) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

bool is_constant(PyObject* object, int nesting) {
  if (nesting > kMaxNesting) return false;
  const ConstantType* row = find_constant_type(Py_TYPE(object));
  return row != nullptr && row->is_constant(object, nesting);
}

}  // namespace

void register_constant_type(PyTypeObject* type) {
  bool has_zone = PyObject_HasAttrString(reinterpret_cast<PyObject*>(type), "tzinfo") != 0;
  registered_types().push_back({type, has_zone ? has_no_zone : always, has_zone ? same_moment : same_value});
}

bool is_guardable_constant(BorrowedRef object) { return is_constant(object, 0); }

bool holds_nan(BorrowedRef constant) {
  if (PyFloat_Check(constant.get())) return std::isnan(PyFloat_AS_DOUBLE(constant.get()));
  if (PyComplex_Check(constant.get())) {
    Py_complex number = PyComplex_AsCComplex(constant);
    return std::isnan(number.real) || std::isnan(number.imag);
  }
  if (!PyTuple_Check(constant.get()) && !PyFrozenSet_Check(constant.get())) return false;
  Ref elements = check(PySequence_Tuple(constant));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(elements.get()); ++i)
    if (holds_nan(PyTuple_GET_ITEM(elements.get(), i))) return true;
  return false;
}

Ref exact_constant(BorrowedRef object) {
  if (!PyTuple_Check(object.get()) || is_guardable_constant(object)) return Ref::share(object);
  Py_ssize_t size = PyTuple_GET_SIZE(object.get());
  Ref tuple = check(PyTuple_New(size));
  for (Py_ssize_t i = 0; i < size; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, exact_constant(PyTuple_GET_ITEM(object.get(), i)).release());
  return tuple;
}

bool identical_constants(BorrowedRef a, BorrowedRef b) {
  if (a.get() == b.get()) return true;
  if (a.type() != b.type()) return false;
  const ConstantType* row = find_constant_type(a.type());
  return row != nullptr && row->same(a, b);
}

SameConstant same_constant_of(PyTypeObject* type) { return find_constant_type(type)->same; }

namespace {

bool is_identity_alone(PyObject* object) { return Py_TYPE(object)->tp_richcompare == PyBaseObject_Type.tp_richcompare; }

// A tuple, or an instance of a subclass that is hashed and compared as one (Size, namedtuples).
bool compares_as_tuple(PyObject* object) {
  return PyTuple_Check(object) != 0 && Py_TYPE(object)->tp_richcompare == PyTuple_Type.tp_richcompare;
}

int tuple_key_equal(PyObject* stored, PyObject* key) {
  Py_ssize_t size = PyTuple_GET_SIZE(key);
  if (PyTuple_GET_SIZE(stored) != size) return 0;
  for (Py_ssize_t i = 0; i < size; ++i) {
    int equal = constant_key_equal(PyTuple_GET_ITEM(stored, i), PyTuple_GET_ITEM(key, i));
    if (equal != 1) return equal;
  }
  return 1;
}

}  // namespace

int constant_key_equal(PyObject* stored, PyObject* key) {
  if (stored == key) return 1;
  bool is_tuple = compares_as_tuple(stored);
  if (is_tuple && compares_as_tuple(key)) return tuple_key_equal(stored, key);
  bool stored_alone = is_identity_alone(stored), key_alone = is_identity_alone(key);
  bool stored_plain = is_tuple || is_guardable_constant(stored);
  bool key_plain = compares_as_tuple(key) || is_guardable_constant(key);
  if (stored_alone || key_alone) return (stored_alone || stored_plain) && (key_alone || key_plain) ? 0 : -1;
  if (!stored_plain || !key_plain) return -1;
  if (is_tuple != compares_as_tuple(key)) return 0;
  int equal = PyObject_RichCompareBool(stored, key, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal;
}

int lookup_constant(PyObject* dict, PyObject* key, PyObject** value) {
  Py_hash_t hash = PyObject_Hash(key);
  if (hash == -1) {
    PyErr_Clear();
    *value = nullptr;
    return -1;
  }
  return pv_dict_probe(dict, key, hash, constant_key_equal, value);
}

std::string repr_constant(BorrowedRef constant) {
  Ref text = Ref::steal(PyObject_Repr(constant));
  // An int with more digits than Python converts to decimal text.
  if (!text && PyLong_CheckExact(constant.get())) {
    PyErr_Clear();
    text = Ref::steal(PyNumber_ToBase(constant, 16));
  }
  if (text) return text_of(text);
  PyErr_Clear();  // such an int inside a tuple
  return std::string("<") + constant.type()->tp_name + ">";
}

Py_ssize_t object_member_offset(PyTypeObject* type, const char* member) {
  for (const PyMemberDef* row = type->tp_members; row != nullptr && row->name != nullptr; ++row) {
    if (std::strcmp(row->name, member) == 0 && (row->type == T_OBJECT || row->type == T_OBJECT_EX)) return row->offset;
  }
  return -1;
}

}  // namespace md
