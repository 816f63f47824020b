// The slots, methods and attributes of minidynamo.Tensor, one file per protocol.
#pragma once
#include "cpython/ref.h"

namespace md {

extern PyNumberMethods tensor_as_number;
extern PySequenceMethods tensor_as_sequence;
extern PyMappingMethods tensor_as_mapping;
extern PyBufferProcs tensor_as_buffer;

PyObject* tensor_compare(PyObject* a, PyObject* b, int op);
PyObject* tensor_iter(PyObject* self);
PyObject* tensor_repr(PyObject* self);
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);
// x.T, x.mT: returns a new reference; throws.
Ref view_attribute(PyObject* self, const char* name);
PyObject* tensor_get_dict(PyObject* self, void* context);
int tensor_set_dict(PyObject* self, PyObject* value, void* context);

// Live as long as the process. Methods: those of the op table and of the facts, then the others.
PyMethodDef* tensor_methods();
PyGetSetDef* tensor_getset();

void fill_tensor_slots(PyTypeObject& type);
// Once the type is ready.
void open_reflected_operators(PyTypeObject& type);

}  // namespace md
