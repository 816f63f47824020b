// Interpreter operations without a public name on every version. Return new references unless noted.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The two results of LOAD_METHOD: returns 1 if *method is unbound and takes the object as self,
   else 0; *method is NULL on error. */
int pv_get_method(PyObject* object, PyObject* name, PyObject** method);
/* 1 found, 0 no such attribute (nothing set), -1 error. */
int pv_get_optional_attribute(PyObject* object, PyObject* name, PyObject** value);
/* A special method looked up on the type and bound; NULL without an exception if absent. */
PyObject* pv_lookup_special(PyObject* object, PyObject* name);
int pv_list_extend(PyObject* list, PyObject* iterable);
int pv_set_update(PyObject* set, PyObject* iterable);
int pv_set_subtract(PyObject* set, PyObject* iterable);
/* "module.qualname()", as error messages name a callable. */
PyObject* pv_function_text(PyObject* callable);
PyObject* pv_make_function(PyObject* code, PyObject* globals);
/* Borrowed: the docstring of functions created from this code, or None. */
PyObject* pv_code_doc(PyCodeObject* code);
/* Borrowed: __type_params__; NULL before 3.12, where functions have none. */
PyObject* pv_function_type_params(PyObject* function);

/* Stores without copying or checking, as the evaluator does; steals the reference. flag: 1 defaults, 2 kwdefaults, 4
   annotations, 8 closure, 16 annotate function (3.14). */
void pv_set_function_attribute(PyObject* function, int flag, PyObject* stolen);
/* Detects the behaviour of this version by running Python code; call once, while no frame is captured. */
int pv_learn_annotate_names(void);
/* The qualified name that a function made from this one gets as the annotate function of `owner`: a new
   reference. Py_None: it keeps its own. */
PyObject* pv_annotate_name(PyObject* owner);
/* Whether the function's annotations have not been evaluated yet, and evaluating them runs code. */
int pv_has_pending_annotations(PyObject* function);

/* The annotate function, borrowed, or None; NULL on versions without __annotate__. */
PyObject* pv_function_annotate(PyObject* function);

/* A new reference to an instance of a tuple subclass without fields of its own; the items are not set yet. */
PyObject* pv_new_tuple(PyTypeObject* type, Py_ssize_t length);

/* The operand of LOAD_COMMON_CONSTANT (3.14), borrowed. */
PyObject* pv_common_constant(int index);

#ifdef __cplusplus
}
#endif
