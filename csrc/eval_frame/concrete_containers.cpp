// Subscripts; building, updating and unpacking containers; formatting.
#include "cpython/object_protocol.h"
#include "eval_frame/concrete_steps.h"

namespace md {

StepResult step_BINARY_SUBSCR(LiveFrame& f, const Instruction&) {
  return finish(f, 2, PyObject_GetItem(f.peek(2), f.peek(1)));
}
StepResult step_STORE_SUBSCR(LiveFrame& f, const Instruction&) {
  return finish_status(f, 3, PyObject_SetItem(f.peek(2), f.peek(1), f.peek(3)));
}
StepResult step_DELETE_SUBSCR(LiveFrame& f, const Instruction&) {
  return finish_status(f, 2, PyObject_DelItem(f.peek(2), f.peek(1)));
}
StepResult step_BINARY_SLICE(LiveFrame& f, const Instruction&) {
  Ref slice = Ref::steal(PySlice_New(f.peek(2), f.peek(1), nullptr));
  return finish(f, 3, slice ? PyObject_GetItem(f.peek(3), slice) : nullptr);
}
StepResult step_STORE_SLICE(LiveFrame& f, const Instruction&) {
  Ref slice = Ref::steal(PySlice_New(f.peek(2), f.peek(1), nullptr));
  return finish_status(f, 4, slice ? PyObject_SetItem(f.peek(3), slice, f.peek(4)) : -1);
}
StepResult step_GET_LEN(LiveFrame& f, const Instruction&) {
  Py_ssize_t length = PyObject_Length(f.peek(1));
  return finish(f, 0, length < 0 ? nullptr : PyLong_FromSsize_t(length));
}

// ---- building

StepResult step_BUILD_TUPLE(LiveFrame& f, const Instruction& i) {
  PyObject* tuple = PyTuple_New(i.arg);
  for (int k = 0; tuple != nullptr && k < i.arg; ++k) {
    PyTuple_SET_ITEM(tuple, k, Py_NewRef(f.peek(i.arg - k).get()));
  }
  return finish(f, i.arg, tuple);
}
StepResult step_BUILD_LIST(LiveFrame& f, const Instruction& i) {
  PyObject* list = PyList_New(i.arg);
  for (int k = 0; list != nullptr && k < i.arg; ++k) PyList_SET_ITEM(list, k, Py_NewRef(f.peek(i.arg - k).get()));
  return finish(f, i.arg, list);
}
StepResult step_BUILD_SET(LiveFrame& f, const Instruction& i) {
  Ref set = Ref::steal(PySet_New(nullptr));
  for (int k = i.arg; set && k > 0; --k) {
    if (PySet_Add(set, f.peek(k)) < 0) set.reset();
  }
  return finish(f, i.arg, set.release());
}
StepResult step_BUILD_MAP(LiveFrame& f, const Instruction& i) {
  Ref map = Ref::steal(PyDict_New());
  for (int k = 2 * i.arg; map && k > 0; k -= 2) {
    if (PyDict_SetItem(map, f.peek(k), f.peek(k - 1)) < 0) map.reset();
  }
  return finish(f, 2 * i.arg, map.release());
}
StepResult step_BUILD_CONST_KEY_MAP(LiveFrame& f, const Instruction& i) {
  PyObject* keys = f.peek(1);
  Ref map = Ref::steal(PyDict_New());
  for (int k = 0; map && k < i.arg; ++k) {
    if (PyDict_SetItem(map, PyTuple_GET_ITEM(keys, k), f.peek(i.arg + 1 - k)) < 0) map.reset();
  }
  return finish(f, i.arg + 1, map.release());
}
StepResult step_BUILD_STRING(LiveFrame& f, const Instruction& i) {
  Ref parts = Ref::steal(PyTuple_New(i.arg));
  Ref empty = Ref::steal(PyUnicode_New(0, 0));
  if (!parts || !empty) return raised(f);
  for (int k = 0; k < i.arg; ++k) PyTuple_SET_ITEM(parts.get(), k, Py_NewRef(f.peek(i.arg - k).get()));
  return finish(f, i.arg, PyUnicode_Join(empty, parts));
}
StepResult step_BUILD_SLICE(LiveFrame& f, const Instruction& i) {
  return finish(f, i.arg,
                i.arg == 3 ? PySlice_New(f.peek(3), f.peek(2), f.peek(1)) : PySlice_New(f.peek(2), f.peek(1), nullptr));
}

// ---- updating; the container is below the operands, i.arg does not count them

StepResult step_LIST_APPEND(LiveFrame& f, const Instruction& i) {
  return finish_status(f, 1, PyList_Append(f.peek(i.arg + 1), f.peek(1)));
}
StepResult step_SET_ADD(LiveFrame& f, const Instruction& i) {
  // A program may have replaced __conditional_annotations__.
  if (!PySet_Check(f.peek(i.arg + 1).get())) return evaluator(f);
  return finish_status(f, 1, PySet_Add(f.peek(i.arg + 1), f.peek(1)));
}
StepResult step_MAP_ADD(LiveFrame& f, const Instruction& i) {
  return finish_status(f, 2, PyDict_SetItem(f.peek(i.arg + 2), f.peek(2), f.peek(1)));
}
StepResult step_SET_UPDATE(LiveFrame& f, const Instruction& i) {
  return finish_status(f, 1, pv_set_update(f.peek(i.arg + 1), f.peek(1)));
}

namespace {

bool is_iterable(PyObject* object) { return Py_TYPE(object)->tp_iter != nullptr || PySequence_Check(object); }

}  // namespace

StepResult step_LIST_EXTEND(LiveFrame& f, const Instruction& i) {
  PyObject* iterable = f.peek(1);
  int status = pv_list_extend(f.peek(i.arg + 1), iterable);
  if (status < 0 && PyErr_ExceptionMatches(PyExc_TypeError) && !is_iterable(iterable)) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "Value after * must be an iterable, not %.200s", Py_TYPE(iterable)->tp_name);
  }
  return finish_status(f, 1, status);
}
StepResult step_DICT_UPDATE(LiveFrame& f, const Instruction& i) {
  PyObject* update = f.peek(1);
  int status = PyDict_Update(f.peek(i.arg + 1), update);
  if (status < 0 && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "'%.200s' object is not a mapping", Py_TYPE(update)->tp_name);
  }
  return finish_status(f, 1, status);
}
StepResult step_DICT_MERGE(LiveFrame& f, const Instruction& i) {
  PyObject* map = f.peek(i.arg + 1);
  PyObject* update = f.peek(1);
  // Errors name the function, and a merge may fail half-way: all but the simple case is left to the evaluator.
  if (!PyDict_CheckExact(update)) return evaluator(f);
  Py_ssize_t position = 0;
  PyObject *key, *value;
  while (PyDict_Next(update, &position, &key, &value)) {
    if (!PyUnicode_CheckExact(key) || PyDict_Contains(map, key) != 0) return evaluator(f);
  }
  return finish_status(f, 1, PyDict_Update(map, update));
}

// ---- unpacking

namespace {

StepResult too_few(LiveFrame& f, const char* format, int expected, int got) {
  if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, format, expected, got);
  return raised(f);
}

Ref unpacking_iterator(PyObject* value) {
  Ref iterator = Ref::steal(PyObject_GetIter(value));
  if (!iterator && PyErr_ExceptionMatches(PyExc_TypeError) && !is_iterable(value)) {
    PyErr_Format(PyExc_TypeError, "cannot unpack non-iterable %.200s object", Py_TYPE(value)->tp_name);
  }
  return iterator;
}

// Replaces the top by `items`, the first one on top.
StepResult spread(LiveFrame& f, std::vector<Ref>& items) {
  Ref value = f.pop();
  for (auto it = items.rbegin(); it != items.rend(); ++it) f.push(std::move(*it));
  return next(f);
}

}  // namespace

StepResult step_UNPACK_SEQUENCE(LiveFrame& f, const Instruction& i) {
  PyObject* value = f.peek(1);
  bool is_sequence = PyTuple_CheckExact(value) || PyList_CheckExact(value);
  if (is_sequence && PySequence_Fast_GET_SIZE(value) == i.arg) {
    Ref sequence = f.pop();
    for (int k = i.arg; k-- > 0;) f.push(Ref::share(PySequence_Fast_GET_ITEM(sequence.get(), k)));
    return next(f);
  }
  // If the length is known to be wrong, the evaluator raises.
  if ((is_sequence || PyDict_CheckExact(value)) && PyObject_Size(value) != i.arg) return evaluator(f);
  Ref iterator = unpacking_iterator(value);
  if (!iterator) return raised(f);
  std::vector<Ref> items;
  for (int k = 0; k < i.arg; ++k) {
    items.push_back(Ref::steal(PyIter_Next(iterator)));
    if (!items.back()) return too_few(f, "not enough values to unpack (expected %d, got %d)", i.arg, k);
  }
  Ref extra = Ref::steal(PyIter_Next(iterator));
  if (extra) PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d)", i.arg);
  return PyErr_Occurred() ? raised(f) : spread(f, items);
}

StepResult step_UNPACK_EX(LiveFrame& f, const Instruction& i) {
  Ref iterator = unpacking_iterator(f.peek(1));
  if (!iterator) return raised(f);
  int before = i.arg, after = i.arg2;
  const char* format = "not enough values to unpack (expected at least %d, got %d)";
  std::vector<Ref> items;
  for (int k = 0; k < before; ++k) {
    items.push_back(Ref::steal(PyIter_Next(iterator)));
    if (!items.back()) return too_few(f, format, before + after, k);
  }
  Ref rest = Ref::steal(PySequence_List(iterator));
  if (!rest) return raised(f);
  Py_ssize_t kept = PyList_GET_SIZE(rest.get()) - after;
  if (kept < 0) return too_few(f, format, before + after, before + static_cast<int>(kept) + after);
  items.push_back(rest);
  for (Py_ssize_t k = kept; k < kept + after; ++k) items.push_back(Ref::share(PyList_GET_ITEM(rest.get(), k)));
  if (PyList_SetSlice(rest, kept, kept + after, nullptr) < 0) return raised(f);
  return spread(f, items);
}

// ---- formatting

namespace {

// 1 str, 2 repr, 3 ascii
PyObject* converted(PyObject* value, int conversion) {
  switch (conversion) {
    case 1:
      return PyObject_Str(value);
    case 2:
      return PyObject_Repr(value);
    case 3:
      return PyObject_ASCII(value);
    default:
      return Py_NewRef(value);
  }
}

PyObject* formatted(PyObject* value, PyObject* specification) {
  if (PyUnicode_CheckExact(value) && specification == nullptr) return Py_NewRef(value);
  return PyObject_Format(value, specification);
}

}  // namespace

StepResult step_FORMAT_VALUE(LiveFrame& f, const Instruction& i) {
  Ref value = Ref::steal(converted(f.peek(1 + i.arg2), i.arg));
  if (!value) return raised(f);
  return finish(f, 1 + i.arg2, formatted(value, i.arg2 ? f.peek(1).get() : nullptr));
}
StepResult step_CONVERT_VALUE(LiveFrame& f, const Instruction& i) { return finish(f, 1, converted(f.peek(1), i.arg)); }
StepResult step_FORMAT_SIMPLE(LiveFrame& f, const Instruction&) { return finish(f, 1, formatted(f.peek(1), nullptr)); }
StepResult step_FORMAT_WITH_SPEC(LiveFrame& f, const Instruction&) {
  return finish(f, 2, PyObject_Format(f.peek(2), f.peek(1)));
}

}  // namespace md
