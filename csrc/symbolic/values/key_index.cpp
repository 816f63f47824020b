#include "symbolic/values/key_index.h"

#include "symbolic/values/key_proxy.h"

namespace md {

bool KeyIndex::has_plain_hash(BorrowedRef key) {
  PyObject* object = key.get();
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (!has_plain_hash(PyTuple_GET_ITEM(object, i))) return false;
    return true;
  }
  return PyUnicode_CheckExact(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
         PyBytes_CheckExact(object) || PyBool_Check(object) || PyComplex_CheckExact(object) || is_key_proxy(object) ||
         Py_TYPE(object)->tp_hash == PyBaseObject_Type.tp_hash;
}

bool KeyIndex::worth(size_t count, int64_t erased) {
  if (erased != erased_ || count < covered_) {
    *this = {};
    erased_ = erased;
  }
  if (scans_ < kScans) ++scans_;
  return scans_ == kScans;
}

void KeyIndex::add(BorrowedRef key) {
  auto& places = has_plain_hash(key) ? places_[PyObject_Hash(key)] : others_;
  places.push_back(static_cast<int>(covered_++));
}

const std::vector<int>& KeyIndex::with_hash_of(BorrowedRef key) const {
  static const auto* const none = new std::vector<int>();
  auto found = places_.find(PyObject_Hash(key));
  return found == places_.end() ? *none : found->second;
}

}  // namespace md
