// Structural pattern matching.
#include "cpython/object_protocol.h"
#include "eval_frame/concrete_steps.h"

namespace md {

StepResult step_MATCH_MAPPING(LiveFrame& f, const Instruction&) {
  bool matches = PyType_HasFeature(f.peek(1).type(), Py_TPFLAGS_MAPPING);
  f.push(Ref::share(matches ? Py_True : Py_False));
  return next(f);
}
StepResult step_MATCH_SEQUENCE(LiveFrame& f, const Instruction&) {
  bool matches = PyType_HasFeature(f.peek(1).type(), Py_TPFLAGS_SEQUENCE);
  f.push(Ref::share(matches ? Py_True : Py_False));
  return next(f);
}

namespace {

// Looks up each key once with get(key, sentinel), so __missing__ is not called. Returns 1 if `values` holds a tuple, 0
// if a key is missing, -1 on error.
int match_keys(PyObject* subject, PyObject* keys, Ref& values) {
  Py_ssize_t count = PyTuple_GET_SIZE(keys);
  values = Ref::steal(PyTuple_New(count));
  if (!values) return -1;
  if (count == 0) return 1;
  Ref name = Ref::steal(PyUnicode_InternFromString("get"));
  Ref seen = Ref::steal(PySet_New(nullptr));
  Ref sentinel = Ref::steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  if (!name || !seen || !sentinel) return -1;
  Ref get = Ref::steal(PyObject_GetAttr(subject, name));
  if (!get) return -1;
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject* key = PyTuple_GET_ITEM(keys, k);
    int repeated = PySet_Contains(seen, key);
    if (repeated > 0) PyErr_Format(PyExc_ValueError, "mapping pattern checks duplicate key (%R)", key);
    if (repeated != 0 || PySet_Add(seen, key) < 0) return -1;
    PyObject* arguments[] = {key, sentinel};
    Ref value = Ref::steal(PyObject_Vectorcall(get, arguments, 2, nullptr));
    if (!value) return -1;
    if (value.get() == sentinel.get()) return 0;
    PyTuple_SET_ITEM(values.get(), k, value.release());
  }
  return 1;
}

}  // namespace

StepResult step_MATCH_KEYS(LiveFrame& f, const Instruction&) {
  Ref values;
  int found = match_keys(f.peek(2), f.peek(1), values);
  if (found < 0) return raised(f);
  return finish(f, 0, found ? values.release() : Py_NewRef(Py_None));
}

namespace {

class ClassMatch {
 public:
  ClassMatch(PyObject* subject, PyObject* type) : subject_(subject), type_(type) {}

  // Returns 1 if values() are the patterns' subjects, 0 for no match, -1 on error.
  int run(Py_ssize_t positional, PyObject* keyword_names);
  Ref values() const { return Ref::steal(PyList_AsTuple(values_)); }

 private:
  const char* type_name() const { return reinterpret_cast<PyTypeObject*>(type_)->tp_name; }
  int match_positional(Py_ssize_t count);
  int match_attribute(PyObject* name);

  PyObject* subject_;
  PyObject* type_;
  Ref seen_;
  Ref values_;
};

int ClassMatch::match_attribute(PyObject* name) {
  int repeated = PySet_Contains(seen_, name);
  if (repeated > 0) {
    PyErr_Format(PyExc_TypeError, "%s() got multiple sub-patterns for attribute %R", type_name(), name);
  }
  if (repeated != 0 || PySet_Add(seen_, name) < 0) return -1;
  PyObject* value = nullptr;
  int found = pv_get_optional_attribute(subject_, name, &value);
  if (found <= 0) return found;
  return PyList_Append(values_, Ref::steal(value)) < 0 ? -1 : 1;
}

int ClassMatch::match_positional(Py_ssize_t count) {
  PyObject* found = nullptr;
  Ref name = Ref::steal(PyUnicode_InternFromString("__match_args__"));
  if (!name || pv_get_optional_attribute(type_, name, &found) < 0) return -1;
  Ref match_args = found != nullptr ? Ref::steal(found) : Ref();
  bool matches_self = false;
  if (match_args && !PyTuple_CheckExact(match_args.get())) {
    PyErr_Format(PyExc_TypeError, "%s.__match_args__ must be a tuple (got %s)", type_name(),
                 Py_TYPE(match_args.get())->tp_name);
    return -1;
  }
  if (!match_args) matches_self = PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type_), _Py_TPFLAGS_MATCH_SELF);
  Py_ssize_t allowed = matches_self ? 1 : match_args ? PyTuple_GET_SIZE(match_args.get()) : 0;
  if (allowed < count) {
    PyErr_Format(PyExc_TypeError, "%s() accepts %d positional sub-pattern%s (%d given)", type_name(),
                 static_cast<int>(allowed), allowed == 1 ? "" : "s", static_cast<int>(count));
    return -1;
  }
  if (matches_self) return PyList_Append(values_, subject_) < 0 ? -1 : 1;
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject* attribute = PyTuple_GET_ITEM(match_args.get(), k);
    if (!PyUnicode_CheckExact(attribute)) {
      PyErr_Format(PyExc_TypeError, "__match_args__ elements must be strings (got %s)", Py_TYPE(attribute)->tp_name);
      return -1;
    }
    int matched = match_attribute(attribute);
    if (matched <= 0) return matched;
  }
  return 1;
}

int ClassMatch::run(Py_ssize_t positional, PyObject* keyword_names) {
  int is_instance = PyObject_IsInstance(subject_, type_);
  if (is_instance <= 0) return is_instance;
  seen_ = Ref::steal(PySet_New(nullptr));
  values_ = Ref::steal(PyList_New(0));
  if (!seen_ || !values_) return -1;
  int matched = positional > 0 ? match_positional(positional) : 1;
  for (Py_ssize_t k = 0; matched == 1 && k < PyTuple_GET_SIZE(keyword_names); ++k) {
    matched = match_attribute(PyTuple_GET_ITEM(keyword_names, k));
  }
  return matched;
}

}  // namespace

StepResult step_MATCH_CLASS(LiveFrame& f, const Instruction& i) {
  PyObject* type = f.peek(2);
  if (!PyType_Check(type)) {
    PyErr_SetString(PyExc_TypeError, "called match pattern must be a class");
    return raised(f);
  }
  ClassMatch match(f.peek(3), type);
  int matched = match.run(i.arg, f.peek(1));
  if (matched < 0) return raised(f);
  return finish(f, 3, matched ? match.values().release() : Py_NewRef(Py_None));
}

}  // namespace md
