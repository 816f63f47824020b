#include "snapshot/held_iterator.h"

namespace md {
namespace {

struct HeldIterator {
  PyObject_HEAD PyObject* iterator;  // owned
};

PyObject* give_iterator(PyObject* self) { return Py_NewRef(reinterpret_cast<HeldIterator*>(self)->iterator); }

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_DECREF(reinterpret_cast<HeldIterator*>(self)->iterator);
  type->tp_free(self);
  Py_DECREF(type);
}

PyTypeObject* held_iterator_type() {
  static PyType_Slot slots[] = {
      {Py_tp_iter, reinterpret_cast<void*>(give_iterator)},
      {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
      {0, nullptr},
  };
  static PyType_Spec spec = {"minidynamo._C._HeldIterator", sizeof(HeldIterator), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  static auto* const type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)).release());
  return type;
}

}  // namespace

Ref held_iterator(BorrowedRef iterable) {
  if (!PyIter_Check(iterable.get())) return Ref::share(iterable.get());
  PyTypeObject* type = held_iterator_type();
  Ref held = check(type->tp_alloc(type, 0));
  reinterpret_cast<HeldIterator*>(held.get())->iterator = Py_NewRef(iterable.get());
  return held;
}

}  // namespace md
