// Operations of the interpreter that have no public name on every version. New references unless said otherwise.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The two results of LOAD_METHOD: 1 when *method is unbound and takes the object as self, else 0; *method NULL on error. */
int pv_get_method(PyObject* object, PyObject* name, PyObject** method);
/* 1 found, 0 no such attribute (nothing set), -1 error. */
int pv_get_optional_attribute(PyObject* object, PyObject* name, PyObject** value);
/* A special method looked up on the type and bound; NULL without an exception when absent. */
PyObject* pv_lookup_special(PyObject* object, PyObject* name);
int pv_list_extend(PyObject* list, PyObject* iterable);
int pv_set_update(PyObject* set, PyObject* iterable);
/* "module.qualname()", as error messages name a callable. */
PyObject* pv_function_text(PyObject* callable);
PyObject* pv_make_function(PyObject* code, PyObject* globals);
/* Borrowed: the docstring that a function of this code is made with, or None. */
PyObject* pv_code_doc(PyCodeObject* code);
/* Borrowed: __type_params__; NULL where functions have none, before 3.12. */
PyObject* pv_function_type_params(PyObject* function);

/* Stores a reference that it takes as the evaluator does: no copy, no check. flag: 1 defaults, 2 kwdefaults,
   4 annotations, 8 closure, 16 what makes the annotations (3.14). */
void pv_set_function_attribute(PyObject* function, int flag, PyObject* stolen);
/* Finds out what this version does, by Python code; to be called once, while nothing is under the evaluator. */
int pv_learn_annotate_names(void);
/* The qualified name that a function of this one gets as what makes the annotations of `owner`: a new reference. Py_None: it
   keeps its own. */
PyObject* pv_annotate_name(PyObject* owner);
/* Whether the function's annotations do not exist yet, and making them runs code. */
int pv_has_pending_annotations(PyObject* function);

/* What makes them, borrowed, or None; NULL on a version that has no __annotate__. */
PyObject* pv_function_annotate(PyObject* function);

/* An object of a subclass of tuple without fields of its own, its items yet unset: a new reference. */
PyObject* pv_new_tuple(PyTypeObject* type, Py_ssize_t length);

/* Operand of LOAD_COMMON_CONSTANT (3.14), borrowed. */
PyObject* pv_common_constant(int index);

#ifdef __cplusplus
}
#endif
