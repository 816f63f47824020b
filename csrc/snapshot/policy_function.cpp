#include "snapshot/policy_function.h"

#include <structmember.h>

#include <cstddef>

#include "cpython/errors.h"

namespace md {
namespace {

struct PolicyFunction {
  PyObject_HEAD PyObject* function;  // owned
  PyObject* reason;                  // owned; None unless disabled with a reason
  PyObject* dict;                    // owned
  PyObject* weak_references;
  vectorcallfunc vectorcall;
  PolicyChange change;
};

PolicyFunction* as_policy_function(PyObject* object) { return reinterpret_cast<PolicyFunction*>(object); }

const Policy* disabled_policy() {
  Policy policy;
  if (const Policy* current = ambient_policy()) policy = *current;
  policy.disable = true;
  return intern(policy);
}

Ref call_wrapped(PolicyFunction* self, PyObject* const* args, size_t flagged_count, PyObject* kw_names) {
  return Ref::steal(PyObject_Vectorcall(self->function, args, flagged_count, kw_names));
}

Ref call_with_errors(PolicyFunction* self, bool value, PyObject* const* args, size_t flagged_count,
                     PyObject* kw_names) {
  bool previous = exchange_error_on_graph_break(value);
  Ref result = call_wrapped(self, args, flagged_count, kw_names);
  exchange_error_on_graph_break(previous);
  return result;
}

Ref call_disabled(PolicyFunction* self, PyObject* const* args, size_t flagged_count, PyObject* kw_names) {
  AmbientPolicy disabled(disabled_policy());
  return call_wrapped(self, args, flagged_count, kw_names);
}

Ref call_frame_disabled(PolicyFunction* self, PyObject* const* args, size_t flagged_count, PyObject* kw_names) {
  BorrowedRef previous = exchange_skipped_function(self->function);
  Ref result = call_wrapped(self, args, flagged_count, kw_names);
  exchange_skipped_function(previous);
  return result;
}

PyObject* call(PyObject* object, PyObject* const* args, size_t flagged_count, PyObject* kw_names) {
  PolicyFunction* self = as_policy_function(object);
  try {
    switch (self->change) {
      case PolicyChange::ErrorOnGraphBreak:
        return call_with_errors(self, true, args, flagged_count, kw_names).release();
      case PolicyChange::NoErrorOnGraphBreak:
        return call_with_errors(self, false, args, flagged_count, kw_names).release();
      case PolicyChange::Disable:
        return call_disabled(self, args, flagged_count, kw_names).release();
      case PolicyChange::DisableFrame:
        return call_frame_disabled(self, args, flagged_count, kw_names).release();
    }
  } catch (...) {
    set_error_from_current_exception();
  }
  return nullptr;
}

// As functools.update_wrapper, without importing functools.
void copy_metadata(PolicyFunction* self) {
  Ref own = check(PyDict_New());
  Ref wrapped_dict = Ref::steal(PyObject_GetAttrString(self->function, "__dict__"));
  if (!wrapped_dict) PyErr_Clear();
  if (wrapped_dict && PyDict_Check(wrapped_dict)) check_status(PyDict_Update(own, wrapped_dict));
  for (const char* name : {"__module__", "__name__", "__qualname__", "__doc__", "__annotations__"}) {
    Ref value = Ref::steal(PyObject_GetAttrString(self->function, name));
    if (value) {
      check_status(PyDict_SetItemString(own, name, value));
    } else if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
      PyErr_Clear();
    } else {
      throw PythonError();
    }
  }
  check_status(PyDict_SetItemString(own, "__wrapped__", self->function));
  self->dict = own.release();
}

PolicyChange change_of(PyObject* error_on_graph_break, int disable, int recursive) {
  if (disable != 0) return recursive != 0 ? PolicyChange::Disable : PolicyChange::DisableFrame;
  return error_on_graph_break == Py_True ? PolicyChange::ErrorOnGraphBreak : PolicyChange::NoErrorOnGraphBreak;
}

Ref allocate(PyTypeObject* type, PyObject* function, PolicyChange change, PyObject* reason) {
  Ref object = check(type->tp_alloc(type, 0));
  PolicyFunction* self = as_policy_function(object);
  self->function = Py_NewRef(function);
  self->reason = Py_NewRef(reason);
  self->vectorcall = &call;
  self->change = change;
  copy_metadata(self);
  return object;
}

PyObject* create(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"function", "error_on_graph_break", "disable", "recursive", "reason", nullptr};
  PyObject* function = nullptr;
  PyObject* error_on_graph_break = Py_None;
  int disable = 0;
  int recursive = 1;
  PyObject* reason = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OppO:PolicyFunction", const_cast<char**>(names), &function,
                                  &error_on_graph_break, &disable, &recursive, &reason) == 0) {
    return nullptr;
  }
  if (PyCallable_Check(function) == 0) {
    PyErr_Format(PyExc_TypeError, "a function or another callable is expected, not %.200s", Py_TYPE(function)->tp_name);
    return nullptr;
  }
  if ((PyBool_Check(error_on_graph_break) != 0) == (disable != 0)) {
    PyErr_SetString(PyExc_TypeError, "PolicyFunction takes either error_on_graph_break=<bool> or disable=True");
    return nullptr;
  }
  try {
    return allocate(type, function, change_of(error_on_graph_break, disable, recursive), reason).release();
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  PolicyFunction* self = as_policy_function(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->function);
  Py_VISIT(self->reason);
  Py_VISIT(self->dict);
  return 0;
}

int clear(PyObject* object) {
  PolicyFunction* self = as_policy_function(object);
  Py_CLEAR(self->function);
  Py_CLEAR(self->reason);
  Py_CLEAR(self->dict);
  return 0;
}

void destroy(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (as_policy_function(object)->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

bool binds_as_function(PyObject* function) { return PyFunction_Check(function) || is_policy_function(function); }

// A Python function binds as a method; anything else binds as it would without the wrapper.
PyObject* bind(PyObject* object, PyObject* instance, PyObject* owner) {
  PolicyFunction* self = as_policy_function(object);
  if (binds_as_function(self->function)) {
    if (instance == nullptr || instance == Py_None) return Py_NewRef(object);
    return PyMethod_New(object, instance);
  }
  descrgetfunc get = Py_TYPE(self->function)->tp_descr_get;
  if (get == nullptr) return Py_NewRef(object);
  Ref bound = Ref::steal(get(self->function, instance, owner));
  if (!bound) return nullptr;
  if (bound.get() == self->function) return Py_NewRef(object);
  PyObject* copy = Py_TYPE(object)->tp_alloc(Py_TYPE(object), 0);
  if (copy == nullptr) return nullptr;
  PolicyFunction* method = as_policy_function(copy);
  method->function = bound.release();
  method->reason = Py_NewRef(self->reason);
  method->dict = Py_XNewRef(self->dict);
  method->vectorcall = &call;
  method->change = self->change;
  return copy;
}

PyObject* represent(PyObject* object) {
  PolicyFunction* self = as_policy_function(object);
  const char* words[] = {"error_on_graph_break(True)", "error_on_graph_break(False)", "disable",
                         "disable(recursive=False)"};
  return PyUnicode_FromFormat("<%s %R>", words[static_cast<int>(self->change)], self->function);
}

// Pickled and copied by name, as functions are.
PyObject* reduce(PyObject* object, PyObject*) { return PyObject_GetAttrString(object, "__qualname__"); }

PyObject* get_error_on_graph_break(PyObject* object, void*) {
  switch (as_policy_function(object)->change) {
    case PolicyChange::ErrorOnGraphBreak:
      Py_RETURN_TRUE;
    case PolicyChange::NoErrorOnGraphBreak:
      Py_RETURN_FALSE;
    case PolicyChange::Disable:
    case PolicyChange::DisableFrame:
      break;
  }
  Py_RETURN_NONE;
}

PyObject* get_disables_callees(PyObject* object, void*) {
  switch (as_policy_function(object)->change) {
    case PolicyChange::Disable:
      Py_RETURN_TRUE;
    case PolicyChange::DisableFrame:
      Py_RETURN_FALSE;
    case PolicyChange::ErrorOnGraphBreak:
    case PolicyChange::NoErrorOnGraphBreak:
      break;
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"__reduce__", &reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(PolicyFunction, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PolicyFunction, weak_references), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PolicyFunction, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"error_on_graph_break", &get_error_on_graph_break, nullptr, "What it sets; None if it disables capture.", nullptr},
    {"disables_callees", &get_disables_callees, nullptr,
     "True if it disables the function and what that calls, False for its frame alone; None if it sets something else.",
     nullptr},
    {"__dict__", &PyObject_GenericGetDict, &PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

template <typename Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

PyTypeObject* make_type() {
  PyType_Slot slots[] = {
      {Py_tp_new, slot(&create)},
      {Py_tp_dealloc, slot(&destroy)},
      {Py_tp_traverse, slot(&traverse)},
      {Py_tp_clear, slot(&clear)},
      {Py_tp_call, slot(&PyVectorcall_Call)},
      {Py_tp_descr_get, slot(&bind)},
      {Py_tp_repr, slot(&represent)},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {Py_tp_getset, properties},
      {0, nullptr},
  };
  PyType_Spec spec = {"minidynamo._C.PolicyFunction", sizeof(PolicyFunction), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
                      slots};
  return reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)).release());
}

}  // namespace

const Policy* policy_inside(PolicyChange change, const Policy* caller) {
  switch (change) {
    case PolicyChange::ErrorOnGraphBreak:
      return with_error_on_graph_break(caller, true);
    case PolicyChange::NoErrorOnGraphBreak:
      return with_error_on_graph_break(caller, false);
    case PolicyChange::Disable:
    case PolicyChange::DisableFrame:
      break;
  }
  return nullptr;
}

Ref make_policy_function(BorrowedRef function, PolicyChange change, BorrowedRef reason) {
  return allocate(policy_function_type(), function, change, reason ? reason.get() : Py_None);
}

PyTypeObject* policy_function_type() {
  static PyTypeObject* type = make_type();
  return type;
}

bool is_policy_function(BorrowedRef object) { return object.type() == policy_function_type(); }

BorrowedRef wrapped_function(BorrowedRef policy_function) { return as_policy_function(policy_function)->function; }

PolicyChange policy_change(BorrowedRef policy_function) { return as_policy_function(policy_function)->change; }

BorrowedRef disable_reason(BorrowedRef policy_function) { return as_policy_function(policy_function)->reason; }

}  // namespace md
