#include "frontends/minidynamo/tensor_object.h"

#include <cstddef>
#include <new>

#include "cpython/errors.h"
#include "frontends/minidynamo/tensor_slots.h"

namespace md {

PyTypeObject tensor_type;  // zero-initialised until ready_tensor_type

namespace {

// Free list of memory of the exact type, including the GC header. Accessed under the GIL only.
constexpr int kFreeListSize = 64;
TensorObject* free_list[kFreeListSize];
int free_count = 0;

// Not tracked by the garbage collector: without a dict a tensor refers to no Python object.
TensorObject* allocate() {
  if (free_count > 0) {
    TensorObject* object = free_list[--free_count];
    PyObject_Init(reinterpret_cast<PyObject*>(object), &tensor_type);
    return object;
  }
  auto* object = PyObject_GC_New(TensorObject, &tensor_type);
  if (object == nullptr) throw PythonError();
  return object;
}

// A subclass may have slots of its own: zeroed and tracked.
TensorObject* allocate_subclass(PyTypeObject* type) {
  return as_tensor_object(check(type->tp_alloc(type, 0)).release());
}

void tensor_dealloc(PyObject* self) {
  TensorObject* object = as_tensor_object(self);
  PyTypeObject* type = Py_TYPE(self);
  if (PyObject_GC_IsTracked(self)) PyObject_GC_UnTrack(self);
  if (object->weak_list != nullptr) PyObject_ClearWeakRefs(self);
  Py_CLEAR(object->dict);
  Py_CLEAR(object->grad);
  object->tensor.~Tensor();
  if (type == &tensor_type && free_count < kFreeListSize) {
    free_list[free_count++] = object;
    return;
  }
  type->tp_free(self);  // a subclass drops its own reference to the type
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(as_tensor_object(self)->dict);
  Py_VISIT(as_tensor_object(self)->grad);
  return 0;
}
int tensor_clear(PyObject* self) {
  Py_CLEAR(as_tensor_object(self)->dict);
  Py_CLEAR(as_tensor_object(self)->grad);
  return 0;
}

// Guards may rely on the absence of a dict. Subclasses are always tracked by the garbage collector.
void note_dict(PyObject* self, const PyObject* before) {
  PyObject* dict = as_tensor_object(self)->dict;
  if (dict == before) return;
  note_tensor_change();
  if (dict != nullptr && !PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
}

int tensor_setattro(PyObject* self, PyObject* name, PyObject* value) {
  const PyObject* before = as_tensor_object(self)->dict;
  int status = PyObject_GenericSetAttr(self, name, value);
  note_dict(self, before);
  return status;
}

}  // namespace

PyObject* tensor_get_dict(PyObject* self, void* context) {
  const PyObject* before = as_tensor_object(self)->dict;
  PyObject* dict = PyObject_GenericGetDict(self, context);
  note_dict(self, before);
  return dict;
}

int tensor_set_dict(PyObject* self, PyObject* value, void* context) {
  const PyObject* before = as_tensor_object(self)->dict;
  int status = PyObject_GenericSetDict(self, value, context);
  note_dict(self, before);
  return status;
}

void replace_tensor(PyObject* object, Tensor tensor) {
  as_tensor_object(object)->tensor = std::move(tensor);
  note_tensor_change();
}

Ref wrap_tensor_as(PyTypeObject* type, Tensor tensor) {
  TensorObject* object = type == &tensor_type ? allocate() : allocate_subclass(type);
  new (&object->tensor) Tensor(std::move(tensor));
  object->user_leaf = false;
  object->grad = nullptr;
  object->dict = nullptr;
  object->weak_list = nullptr;
  return Ref::steal(reinterpret_cast<PyObject*>(object));
}

Ref wrap_tensor(Tensor tensor) { return wrap_tensor_as(&tensor_type, std::move(tensor)); }

void ready_tensor_type() {
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&tensor_type), 1);
  tensor_type.tp_name = "minidynamo.Tensor";
  tensor_type.tp_basicsize = sizeof(TensorObject);
  tensor_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  tensor_type.tp_dealloc = tensor_dealloc;
  tensor_type.tp_traverse = tensor_traverse;
  tensor_type.tp_clear = tensor_clear;
  tensor_type.tp_setattro = tensor_setattro;
  tensor_type.tp_getattro = PyObject_GenericGetAttr;
  tensor_type.tp_dictoffset = offsetof(TensorObject, dict);
  tensor_type.tp_weaklistoffset = offsetof(TensorObject, weak_list);
  tensor_type.tp_free = PyObject_GC_Del;
  fill_tensor_slots(tensor_type);
  check_status(PyType_Ready(&tensor_type));
  open_reflected_operators(tensor_type);
}

}  // namespace md
