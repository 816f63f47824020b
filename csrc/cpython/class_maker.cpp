// type.__new__ looks up __init_subclass__ along the MRO behind the new class. During that call the MRO
// is (class, object): an object stored as the last name of the class swaps it in its __set_name__. No
// other code has seen the class yet.
#include "cpython/class_maker.h"

#include "cpython/object_layout.h"

namespace md {

namespace {

struct SilencerObject {
  PyObject_HEAD PyObject* type;  // borrowed: the class whose MRO was swapped
  PyObject* mro;                 // owned until restored
};

PyObject* silence(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !PyType_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "__set_name__ takes a class and a name");
    return nullptr;
  }
  auto* silencer = reinterpret_cast<SilencerObject*>(self);
  auto* type = reinterpret_cast<PyTypeObject*>(args[0]);
  PyObject* shorter = PyTuple_Pack(2, args[0], &PyBaseObject_Type);
  if (shorter == nullptr) return nullptr;
  silencer->type = args[0];
  silencer->mro = type->tp_mro;
  type->tp_mro = shorter;
  Py_RETURN_NONE;
}

PyMethodDef silencer_methods[] = {
    {"__set_name__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(silence)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr}};

void drop_silencer(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyTypeObject* silencer_type() {
  static PyType_Slot slots[] = {
      {Py_tp_methods, silencer_methods}, {Py_tp_dealloc, reinterpret_cast<void*>(&drop_silencer)}, {0, nullptr}};
  static PyType_Spec spec{"minidynamo._C._Silencer", sizeof(SilencerObject), 0, Py_TPFLAGS_DEFAULT, slots};
  static PyObject* const type = check(PyType_FromSpec(&spec)).release();
  return reinterpret_cast<PyTypeObject*>(type);
}

void give_back(SilencerObject* silencer) {
  if (silencer->mro == nullptr) return;
  auto* type = reinterpret_cast<PyTypeObject*>(silencer->type);
  PyObject* shorter = std::exchange(type->tp_mro, std::exchange(silencer->mro, nullptr));
  Py_DECREF(shorter);
  PyType_Modified(type);
}

bool is_heard_of(PyObject* base) {
  static PyObject* const kHook = PyUnicode_InternFromString("__init_subclass__");
  auto* type = reinterpret_cast<PyTypeObject*>(base);
  return PyType_Check(base) && _PyType_Lookup(type, kHook) != _PyType_Lookup(&PyBaseObject_Type, kHook);
}

}  // namespace

Ref new_class(PyTypeObject* meta, BorrowedRef arguments) {
  PyObject *bases = PyTuple_GET_ITEM(arguments.get(), 1), *names = PyTuple_GET_ITEM(arguments.get(), 2);
  bool is_loud = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) is_loud = is_loud || is_heard_of(PyTuple_GET_ITEM(bases, i));
  if (!is_loud) return Ref::steal(PyType_Type.tp_new(meta, arguments, nullptr));
  static PyObject* const kPlace = PyUnicode_InternFromString(" silencer");
  PyTypeObject* type = silencer_type();
  Ref silencer = check(type->tp_alloc(type, 0));
  check_status(PyDict_SetItem(names, kPlace, silencer));
  Ref made = Ref::steal(PyType_Type.tp_new(meta, arguments, nullptr));
  // If creation failed, the class is freed with whichever MRO it has.
  auto* held = reinterpret_cast<SilencerObject*>(silencer.get());
  if (!made) {
    Py_CLEAR(held->mro);
    return made;
  }
  give_back(held);
  check_status(PyType_Type.tp_setattro(made, kPlace, nullptr));
  return made;
}

void put_in_class(PyTypeObject* type, BorrowedRef name, BorrowedRef value) {
  check_status(PyDict_SetItem(pv_type_dict(type), name, value));
  PyType_Modified(type);
}

}  // namespace md
