#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "cpython/object_protocol.h"

#undef _PyGC_FINALIZED
#include "internal/pycore_object.h"
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interp_structs.h"
#endif
#if PY_VERSION_HEX >= 0x030D0000
#include "internal/pycore_function.h"
#include "internal/pycore_list.h"
#include "internal/pycore_setobject.h"
#endif

/* Exported by every version, but declared in different headers: redundant where an included one has them.
   NOLINTBEGIN(readability-redundant-declaration) */
PyAPI_FUNC(int) _PyObject_GetMethod(PyObject* obj, PyObject* name, PyObject** method);
PyAPI_FUNC(PyObject*) _PyObject_FunctionStr(PyObject*);
/* NOLINTEND(readability-redundant-declaration) */

int pv_get_method(PyObject* object, PyObject* name, PyObject** method) {
  *method = NULL;
  return _PyObject_GetMethod(object, name, method);
}

int pv_get_optional_attribute(PyObject* object, PyObject* name, PyObject** value) {
#if PY_VERSION_HEX >= 0x030D0000
  return PyObject_GetOptionalAttr(object, name, value);
#else
  return _PyObject_LookupAttr(object, name, value);
#endif
}

PyObject* pv_lookup_special(PyObject* object, PyObject* name) { return _PyObject_LookupSpecial(object, name); }

int pv_list_extend(PyObject* list, PyObject* iterable) {
  PyObject* none = _PyList_Extend((PyListObject*)list, iterable);
  if (none == NULL) return -1;
  Py_DECREF(none);
  return 0;
}

int pv_set_update(PyObject* set, PyObject* iterable) { return _PySet_Update(set, iterable); }

int pv_set_subtract(PyObject* set, PyObject* iterable) {
  PyObject* none = PyObject_CallMethod(set, "difference_update", "(O)", iterable);
  Py_XDECREF(none);
  return none != NULL ? 0 : -1;
}

PyObject* pv_function_text(PyObject* callable) { return _PyObject_FunctionStr(callable); }

PyObject* pv_make_function(PyObject* code, PyObject* globals) {
  PyObject* function = PyFunction_New(code, globals);
#if PY_VERSION_HEX >= 0x030D0000
  /* Without a version number, calls of the function are never specialised. */
  if (function != NULL) _PyFunction_SetVersion((PyFunctionObject*)function, ((PyCodeObject*)code)->co_version);
#endif
  return function;
}

PyObject* pv_code_doc(PyCodeObject* code) {
  PyObject* first = PyTuple_GET_SIZE(code->co_consts) > 0 ? PyTuple_GET_ITEM(code->co_consts, 0) : Py_None;
#ifdef CO_HAS_DOCSTRING
  if ((code->co_flags & CO_HAS_DOCSTRING) == 0) return Py_None;
#endif
  return PyUnicode_Check(first) ? first : Py_None;
}

PyObject* pv_function_type_params(PyObject* function) {
#if PY_VERSION_HEX >= 0x030C0000
  static PyObject* none_of_them; /* the empty tuple is a singleton */
  PyObject* known = ((PyFunctionObject*)function)->func_typeparams;
  if (known != NULL) return known;
  if (none_of_them == NULL) none_of_them = PyTuple_New(0);
  return none_of_them;
#else
  (void)function;
  return NULL;
#endif
}

/* Late releases of 3.14 name the annotate function after its function. */
static int names_annotate;

int pv_learn_annotate_names(void) {
#if PY_VERSION_HEX >= 0x030E0000
  PyObject *names = PyDict_New(), *done = NULL, *name = NULL, *made = NULL;
  if (names != NULL)
    done = PyRun_String("def f(x: 1): pass\nname = f.__annotate__.__qualname__", Py_file_input, names, names);
  if (done != NULL) made = PyDict_GetItemString(names, "name");
  if (made != NULL) name = PyUnicode_FromString("f.__annotate__");
  if (name != NULL) names_annotate = PyUnicode_Compare(made, name) == 0;
  Py_XDECREF(name);
  Py_XDECREF(done);
  Py_XDECREF(names);
  return PyErr_Occurred() == NULL ? 0 : -1;
#else
  return 0;
#endif
}

PyObject* pv_annotate_name(PyObject* owner) {
  return names_annotate ? PyUnicode_FromFormat("%U.__annotate__", owner) : Py_NewRef(Py_None);
}

void pv_set_function_attribute(PyObject* function, int flag, PyObject* stolen) {
  PyFunctionObject* target = (PyFunctionObject*)function;
  PyObject** member = flag == 1   ? &target->func_defaults
                      : flag == 2 ? &target->func_kwdefaults
                      : flag == 4 ? &target->func_annotations
#if PY_VERSION_HEX >= 0x030E0000
                      : flag == 16 ? &target->func_annotate
#endif
                                   : &target->func_closure;
  PyObject* old = *member;
  *member = stolen;
  Py_XDECREF(old);
  if (flag != 16 || !names_annotate || !PyFunction_Check(stolen)) return;
  PyObject* name = pv_annotate_name(target->func_qualname);
  if (name == NULL) {
    PyErr_Clear();
    return;
  }
  Py_SETREF(((PyFunctionObject*)stolen)->func_qualname, name);
}

int pv_has_pending_annotations(PyObject* function) {
#if PY_VERSION_HEX >= 0x030E0000
  PyFunctionObject* known = (PyFunctionObject*)function;
  return known->func_annotations == NULL && known->func_annotate != NULL && known->func_annotate != Py_None;
#else
  (void)function;
  return 0;
#endif
}

PyObject* pv_function_annotate(PyObject* function) {
#if PY_VERSION_HEX >= 0x030E0000
  PyObject* known = ((PyFunctionObject*)function)->func_annotate;
  return known != NULL ? known : Py_None;
#else
  (void)function;
  return NULL;
#endif
}

PyObject* pv_new_tuple(PyTypeObject* type, Py_ssize_t length) {
  PyObject* tuple = PyTuple_Type.tp_alloc(type, length);
#if PY_VERSION_HEX >= 0x030E0000
  /* Tuples cache their hash. */
  if (tuple != NULL) ((PyTupleObject*)tuple)->ob_hash = -1;
#endif
  return tuple;
}

PyObject* pv_common_constant(int index) {
#if PY_VERSION_HEX >= 0x030E0000
  return PyInterpreterState_Get()->common_consts[index];
#else
  (void)index;
  return NULL;
#endif
}
