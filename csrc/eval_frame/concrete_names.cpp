// Locals, cells, globals, attributes, imports.
#include "cpython/object_protocol.h"
#include "eval_frame/concrete_steps.h"

namespace md {

StepResult raise_name_error(LiveFrame& f, BorrowedRef name) {
  Ref message = Ref::steal(PyUnicode_FromFormat("name '%.200U' is not defined", name.get()));
  if (!message) return raised(f);
  Ref error = Ref::steal(PyObject_CallOneArg(PyExc_NameError, message));
  // Suggestions are based on the name.
  if (error && PyObject_SetAttrString(error, "name", name) == 0) PyErr_SetObject(PyExc_NameError, error);
  return raised(f);
}

StepResult raise_unbound(LiveFrame& f, int slot) {
  PyObject* name = f.bytecode().slot_name(slot);
  if (f.bytecode().slot_kind(slot) != SlotKind::Free) {
    PyErr_Format(PyExc_UnboundLocalError, "cannot access local variable '%U' where it is not associated with a value",
                 name);
    return raised(f);
  }
  Ref message = Ref::steal(PyUnicode_FromFormat(
      "cannot access free variable '%U' where it is not associated with a value in enclosing scope", name));
  if (!message) return raised(f);
  Ref error = Ref::steal(PyObject_CallOneArg(PyExc_NameError, message));
  if (error && PyObject_SetAttrString(error, "name", name) == 0) PyErr_SetObject(PyExc_NameError, error);
  return raised(f);
}

// ---- locals

StepResult step_LOAD_FAST(LiveFrame& f, const Instruction& i) {
  PyObject* value = f.get(i.arg);
  if (value == nullptr) return raise_unbound(f, i.arg);
  f.push(Ref::share(value));
  return next(f);
}
StepResult step_LOAD_CLOSURE(LiveFrame& f, const Instruction& i) { return step_LOAD_FAST(f, i); }
StepResult step_LOAD_FAST_AND_CLEAR(LiveFrame& f, const Instruction& i) {
  Ref value = Ref::share(f.get(i.arg));
  f.put(i.arg, nullptr);
  f.push(std::move(value));
  return next(f);
}
StepResult step_STORE_FAST(LiveFrame& f, const Instruction& i) {
  f.put(i.arg, f.pop());
  return next(f);
}
StepResult step_DELETE_FAST(LiveFrame& f, const Instruction& i) {
  if (!f.get(i.arg)) return raise_unbound(f, i.arg);
  f.put(i.arg, nullptr);
  return next(f);
}

// ---- cells

StepResult step_LOAD_DEREF(LiveFrame& f, const Instruction& i) {
  PyObject* value = PyCell_GET(f.get(i.arg).get());
  if (value == nullptr) return raise_unbound(f, i.arg);
  f.push(Ref::share(value));
  return next(f);
}
StepResult step_STORE_DEREF(LiveFrame& f, const Instruction& i) {
  Ref value = f.pop();
  PyCell_Set(f.get(i.arg), value);
  return next(f);
}
StepResult step_DELETE_DEREF(LiveFrame& f, const Instruction& i) {
  PyObject* cell = f.get(i.arg);
  if (PyCell_GET(cell) == nullptr) return raise_unbound(f, i.arg);
  PyCell_Set(cell, nullptr);
  return next(f);
}

// ---- namespaces

namespace {

// Returns 1 if found, 0 if absent (nothing set), -1 on error. A dict subclass is accessed through its own __getitem__.
int look_up(PyObject* mapping, PyObject* name, Ref& value) {
  if (PyDict_CheckExact(mapping)) {
    value = Ref::share(PyDict_GetItemWithError(mapping, name));
    return value ? 1 : PyErr_Occurred() ? -1 : 0;
  }
  value = Ref::steal(PyObject_GetItem(mapping, name));
  if (value) return 1;
  if (!PyErr_ExceptionMatches(PyExc_KeyError)) return -1;
  PyErr_Clear();
  return 0;
}

int look_up_global(LiveFrame& f, PyObject* name, Ref& value) {
  int found = look_up(f.globals(), name, value);
  return found != 0 ? found : look_up(f.builtins(), name, value);
}

// Replaces `operands` values by the one found; 0: the evaluator raises its NameError.
StepResult finish_look_up(LiveFrame& f, int operands, int found, Ref& value, BorrowedRef name) {
  if (found < 0) return raised(f);
  if (found == 0) return raise_name_error(f, name);
  return finish(f, operands, value.release());
}

StepResult no_locals(LiveFrame& f, const char* format, PyObject* name) {
  PyErr_Format(PyExc_SystemError, format, name);
  return raised(f);
}

}  // namespace

StepResult step_LOAD_GLOBAL(LiveFrame& f, const Instruction& i) {
  Ref value;
  BorrowedRef name = f.bytecode().name(i.arg);
  int found = look_up_global(f, name, value);
  return finish_look_up(f, 0, found, value, name);
}
StepResult step_STORE_GLOBAL(LiveFrame& f, const Instruction& i) {
  return finish_status(f, 1, PyDict_SetItem(f.globals(), f.bytecode().name(i.arg), f.peek(1)));
}
StepResult step_DELETE_GLOBAL(LiveFrame& f, const Instruction& i) {
  BorrowedRef name = f.bytecode().name(i.arg);
  if (PyDict_DelItem(f.globals(), name) == 0) return next(f);
  if (!PyErr_ExceptionMatches(PyExc_KeyError)) return raised(f);
  PyErr_Clear();
  return raise_name_error(f, name);
}

StepResult step_LOAD_LOCALS(LiveFrame& f, const Instruction&) {
  if (!f.locals_mapping()) return no_locals(f, "no locals", nullptr);
  f.push(Ref::share(f.locals_mapping()));
  return next(f);
}
StepResult step_LOAD_NAME(LiveFrame& f, const Instruction& i) {
  BorrowedRef name = f.bytecode().name(i.arg);
  if (!f.locals_mapping()) return no_locals(f, "no locals when loading %R", name);
  Ref value;
  int found = look_up(f.locals_mapping(), name, value);
  if (found == 0) found = look_up_global(f, name, value);
  return finish_look_up(f, 0, found, value, name);
}
StepResult step_STORE_NAME(LiveFrame& f, const Instruction& i) {
  BorrowedRef name = f.bytecode().name(i.arg);
  PyObject* locals = f.locals_mapping();
  if (locals == nullptr) return no_locals(f, "no locals found when storing %R", name);
  int status =
      PyDict_CheckExact(locals) ? PyDict_SetItem(locals, name, f.peek(1)) : PyObject_SetItem(locals, name, f.peek(1));
  return finish_status(f, 1, status);
}
StepResult step_DELETE_NAME(LiveFrame& f, const Instruction& i) {
  BorrowedRef name = f.bytecode().name(i.arg);
  if (!f.locals_mapping()) return no_locals(f, "no locals when deleting %R", name);
  if (PyObject_DelItem(f.locals_mapping(), name) == 0) return next(f);
  PyErr_Clear();
  return raise_name_error(f, name);
}

StepResult step_SETUP_ANNOTATIONS(LiveFrame& f, const Instruction&) {
  if (!f.locals_mapping()) return evaluator(f);
  Ref name = Ref::steal(PyUnicode_InternFromString("__annotations__"));
  if (!name) return raised(f);
  Ref value;
  int found = look_up(f.locals_mapping(), name, value);
  if (found != 0) return next_if(f, found > 0);
  Ref annotations = Ref::steal(PyDict_New());
  return next_if(f, annotations && PyObject_SetItem(f.locals_mapping(), name, annotations) == 0);
}

StepResult step_LOAD_FROM_DICT_OR_GLOBALS(LiveFrame& f, const Instruction& i) {
  BorrowedRef name = f.bytecode().name(i.arg);
  Ref value;
  int found = look_up(f.peek(1), name, value);
  if (found == 0) found = look_up_global(f, name, value);
  return finish_look_up(f, 1, found, value, name);
}

namespace {

StepResult load_from_mapping_or_cell(LiveFrame& f, int operands, PyObject* mapping, int slot) {
  Ref value;
  int found = look_up(mapping, f.bytecode().slot_name(slot), value);
  if (found < 0) return raised(f);
  if (found == 0) value = Ref::share(PyCell_GET(f.get(slot).get()));
  if (!value) return raise_unbound(f, slot);
  return finish(f, operands, value.release());
}

}  // namespace

StepResult step_LOAD_CLASSDEREF(LiveFrame& f, const Instruction& i) {
  return load_from_mapping_or_cell(f, 0, f.locals_mapping(), i.arg);
}
StepResult step_LOAD_FROM_DICT_OR_DEREF(LiveFrame& f, const Instruction& i) {
  return load_from_mapping_or_cell(f, 1, f.peek(1), i.arg);
}

namespace {

// These two are not wrapped in a NameError with a name.
StepResult load_builtin(LiveFrame& f, const char* name, const char* missing) {
  Ref text = Ref::steal(PyUnicode_InternFromString(name));
  if (!text) return raised(f);
  Ref value;
  int found = look_up(f.builtins(), text, value);
  if (found < 0) return raised(f);
  if (found == 0) {
    PyErr_SetString(PyExc_NameError, missing);
    return raised(f);
  }
  return finish(f, 0, value.release());
}

}  // namespace

StepResult step_LOAD_BUILD_CLASS(LiveFrame& f, const Instruction&) {
  return load_builtin(f, "__build_class__", "__build_class__ not found");
}
StepResult step_LOAD_ASSERTION_ERROR(LiveFrame& f, const Instruction&) {
  f.push(Ref::share(PyExc_AssertionError));
  return next(f);
}

// ---- attributes

StepResult step_LOAD_ATTR(LiveFrame& f, const Instruction& i) {
  return finish(f, 1, PyObject_GetAttr(f.peek(1), f.bytecode().name(i.arg)));
}

namespace {

// Pushes the callable and its self, or NULL, in the order that the version's calls expect.
StepResult finish_method(LiveFrame& f, int operands, Ref callable, Ref self) {
  f.drop(operands);
  if (!self && !kNullAfterCallable) std::swap(callable, self);
  f.push(std::move(callable));
  f.push(std::move(self));
  return next(f);
}

}  // namespace

StepResult step_LOAD_METHOD(LiveFrame& f, const Instruction& i) {
  PyObject* found = nullptr;
  int unbound = pv_get_method(f.peek(1), f.bytecode().name(i.arg), &found);
  if (found == nullptr) return raised(f);
  return finish_method(f, 1, Ref::steal(found), unbound ? Ref::share(f.peek(1)) : Ref());
}
StepResult step_STORE_ATTR(LiveFrame& f, const Instruction& i) {
  return finish_status(f, 2, PyObject_SetAttr(f.peek(1), f.bytecode().name(i.arg), f.peek(2)));
}
StepResult step_DELETE_ATTR(LiveFrame& f, const Instruction& i) {
  return finish_status(f, 1, PyObject_SetAttr(f.peek(1), f.bytecode().name(i.arg), nullptr));
}

namespace {

// super(class, self).name; super() without arguments reads them from the running frame.
Ref super_attribute(LiveFrame& f, const Instruction& i) {
  PyObject* arguments[] = {f.peek(2), f.peek(1)};
  Ref super = Ref::steal(PyObject_Vectorcall(f.peek(3), arguments, i.arg2 ? 2 : 0, nullptr));
  if (!super) return {};
  return Ref::steal(PyObject_GetAttr(super, f.bytecode().name(i.arg)));
}

}  // namespace

StepResult step_LOAD_SUPER_ATTR(LiveFrame& f, const Instruction& i) {
  return finish(f, 3, super_attribute(f, i).release());
}
StepResult step_LOAD_SUPER_METHOD(LiveFrame& f, const Instruction& i) {
  Ref attribute = super_attribute(f, i);
  if (!attribute) return raised(f);
  return finish_method(f, 3, std::move(attribute), nullptr);
}

// ---- imports

StepResult step_IMPORT_NAME(LiveFrame& f, const Instruction& i) {
  Ref text = Ref::steal(PyUnicode_InternFromString("__import__"));
  if (!text) return raised(f);
  Ref import;
  int found = look_up(f.builtins(), text, import);
  if (found < 0) return raised(f);
  if (found == 0) {
    PyErr_SetString(PyExc_ImportError, "__import__ not found");
    return raised(f);
  }
  PyObject* locals = f.locals_mapping();
  PyObject* arguments[] = {f.bytecode().name(i.arg), f.globals(), locals != nullptr ? locals : Py_None, f.peek(1),
                           f.peek(2)};
  return finish(f, 2, PyObject_Vectorcall(import, arguments, 5, nullptr));
}

StepResult step_IMPORT_FROM(LiveFrame& f, const Instruction& i) {
  BorrowedRef name = f.bytecode().name(i.arg);
  PyObject* value = nullptr;
  int found = pv_get_optional_attribute(f.peek(1), name, &value);
  if (found < 0) return raised(f);
  if (found > 0) return finish(f, 0, value);
  // A circular import finds the submodule in sys.modules; the evaluator builds the error message.
  PyObject* package = nullptr;
  found = pv_get_optional_attribute(f.peek(1), Ref::steal(PyUnicode_FromString("__name__")), &package);
  Ref owned = Ref::steal(package);
  if (found < 0) return raised(f);
  if (found == 0 || !PyUnicode_Check(package)) return evaluator(f);
  Ref full_name = Ref::steal(PyUnicode_FromFormat("%U.%U", package, name.get()));
  if (!full_name) return raised(f);
  value = PyImport_GetModule(full_name);
  if (value == nullptr && PyErr_Occurred()) return raised(f);
  return value == nullptr ? evaluator(f) : finish(f, 0, value);
}

}  // namespace md
