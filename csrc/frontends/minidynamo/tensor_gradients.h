// Gradients of Tensor objects: attributes, and the functions on which minidynamo.autograd is built.
#pragma once
#include <vector>

#include "cpython/ref.h"

namespace md {

// Raises RuntimeError where torch does.
void set_requires_grad(PyObject* self, bool value, const char* words);

PyObject* get_grad(PyObject* self, void*);
int set_grad(PyObject* self, PyObject* value, void*);
// The object becomes one of other elements; gradient, hooks and requires_grad stay.
int set_data(PyObject* self, PyObject* value, void*);
// GradientAccess::get.
PyObject* plain_gradient(PyObject* self);
PyObject* get_grad_fn(PyObject* self, void*);
PyObject* get_is_leaf(PyObject* self, void*);
PyObject* get_retains_grad(PyObject* self, void*);
PyObject* get_output_nr(PyObject* self, void*);
PyObject* get_base(PyObject* self, void*);

// Tensor.backward and kin, which minidynamo.autograd implements.
std::vector<PyMethodDef> gradient_methods();
std::vector<PyMethodDef> gradient_functions();

}  // namespace md
