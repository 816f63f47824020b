#include "symbolic/values/key_proxy.h"

#include <algorithm>

namespace md {

namespace {

struct KeyProxy {
  PyObject_HEAD Py_hash_t hash;
};

// Pairs known to differ, of this thread's trace; borrowed, and only compared by address.
thread_local std::vector<std::pair<const PyObject*, const PyObject*>> differences;

// Since the start of the instruction.
thread_local bool was_unasked = false;

// During elements_met(): the probe, and the elements it was compared with.
thread_local const PyObject* probe = nullptr;
thread_local std::vector<Ref>* met = nullptr;

PyObject* compare(PyObject* self, PyObject* other, int op) {
  if (op != Py_EQ) Py_RETURN_NOTIMPLEMENTED;
  if (met != nullptr) {
    met->push_back(Ref::share(self == probe ? other : self));
    Py_RETURN_FALSE;
  }
  bool differ = std::ranges::any_of(differences, [&](const auto& pair) {
    return (pair.first == self && pair.second == other) || (pair.first == other && pair.second == self);
  });
  if (differ) Py_RETURN_FALSE;
  was_unasked = true;
  PyErr_SetString(PyExc_RuntimeError, "a key was compared that the program has not compared");
  return nullptr;
}

PyTypeObject* stand_in_type() {
  static PyTypeObject* const type = [] {
    PyType_Slot slots[] = {
        {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
        {Py_tp_hash, reinterpret_cast<void*>(+[](PyObject* self) { return reinterpret_cast<KeyProxy*>(self)->hash; })},
        {0, nullptr}};
    PyType_Spec spec = {"minidynamo.KeyStandIn", sizeof(KeyProxy), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)).release());
  }();
  return type;
}

PyTypeObject* identity_stand_in_type() {
  static PyTypeObject* const type = [] {
    PyType_Slot slots[] = {{0, nullptr}};
    PyType_Spec spec = {"minidynamo.IdentityStandIn", sizeof(PyObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)).release());
  }();
  return type;
}

}  // namespace

Ref make_key_proxy(Py_hash_t hash) {
  Ref made = check(PyType_GenericAlloc(stand_in_type(), 0));
  reinterpret_cast<KeyProxy*>(made.get())->hash = hash;
  return made;
}

bool is_key_proxy(BorrowedRef object) { return Py_IS_TYPE(object.get(), stand_in_type()); }

Py_hash_t hash_of_stand_in(BorrowedRef stand_in) { return reinterpret_cast<KeyProxy*>(stand_in.get())->hash; }

std::vector<Ref> elements_met(BorrowedRef set, Py_hash_t hash) {
  std::vector<Ref> found;
  Ref key = make_key_proxy(hash);
  probe = key;
  met = &found;
  int status = PySet_Contains(set, key);
  met = nullptr;
  check_status(status);
  return found;
}

Ref make_identity_stand_in() { return check(PyType_GenericAlloc(identity_stand_in_type(), 0)); }

bool is_identity_stand_in(BorrowedRef object) { return Py_IS_TYPE(object.get(), identity_stand_in_type()); }

void note_difference(BorrowedRef key, BorrowedRef other) { differences.emplace_back(key.get(), other.get()); }

void forget_differences() {
  differences.clear();
  was_unasked = false;
}

bool take_unasked_comparison() {
  if (!was_unasked) return false;
  was_unasked = false;
  PyErr_Clear();
  return true;
}

}  // namespace md
