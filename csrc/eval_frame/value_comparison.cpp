#include "eval_frame/value_comparison.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "cpython/text.h"
#include "cpython/weak_reference.h"
#include "eval_frame/dict_shadow.h"
#include "eval_frame/tensor_comparison.h"
#include "guards/source.h"
#include "guards/tensor_family.h"

namespace md {

namespace {

constexpr int kDeepestConstant = 16;

// What tells memory apart: its address; of memory without bytes, the storage.
const void* memory_of(const Storage& storage) {
  return storage.nbytes() > 0 ? storage.data() : static_cast<const void*>(&storage);
}

// Whether it has no identity that a program could rely on.
bool is_atom(PyObject* object, int depth = 0) {
  if (object == Py_None || object == Py_Ellipsis || object == Py_NotImplemented) return true;
  if (PyLong_CheckExact(object) || PyBool_Check(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object))
    return true;
  if (PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) || PyCode_Check(object)) return true;
  if (PyRange_Check(object)) return true;
  if (!PyTuple_CheckExact(object) || depth == kDeepestConstant) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (PyTuple_GET_ITEM(object, i) == nullptr || !is_atom(PyTuple_GET_ITEM(object, i), depth + 1)) return false;
  return true;
}

// A frozenset of such objects.
bool is_constant_set(PyObject* object) {
  if (!PyFrozenSet_CheckExact(object)) return false;
  Py_ssize_t at = 0;
  PyObject* item = nullptr;
  while (pv_next_in_set(object, &at, &item) != 0)
    if (!is_atom(item)) return false;
  return true;
}

bool same_float(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return std::signbit(a) == std::signbit(b) || tolerance > 0;
  return std::isfinite(a) && std::isfinite(b) && std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

// For exact built-in types, whose comparison runs no user code.
bool is_equal(PyObject* a, PyObject* b) {
  int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal > 0;
}

bool same_atoms(PyObject* a, PyObject* b, double tolerance) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) return same_float(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b), tolerance);
  if (PyComplex_CheckExact(a))
    return same_float(PyComplex_RealAsDouble(a), PyComplex_RealAsDouble(b), tolerance) &&
           same_float(PyComplex_ImagAsDouble(a), PyComplex_ImagAsDouble(b), tolerance);
  if (!PyTuple_CheckExact(a)) return is_equal(a, b);
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i)
    if (!same_atoms(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i), tolerance)) return false;
  return true;
}

// Returns null, without an exception, if there is none.
Ref attribute_of(BorrowedRef object, const char* name) {
  Ref value = Ref::steal(PyObject_GetAttrString(object, name));
  if (!value) PyErr_Clear();
  return value;
}

Ref own_dict(BorrowedRef object) {
  if (pv_has_instance_storage(object) == 0) return nullptr;
  Ref dict = Ref::steal(PyObject_GenericGetDict(object, nullptr));
  if (!dict) PyErr_Clear();
  return dict && PyDict_Check(dict.get()) ? std::move(dict) : Ref();
}

// Does not call a user-defined __repr__.
std::string key_text(BorrowedRef key) {
  if (!is_atom(key)) return key.type()->tp_name;
  Ref text = Ref::steal(PyObject_Repr(key));
  if (!text) PyErr_Clear();
  return text_of(text);
}

}  // namespace

void ValueComparison::know(BorrowedRef captured, BorrowedRef python) {
  if (!captured || !python || is_atom(captured)) return;
  if (!python_of_.try_emplace(captured.get(), python.get()).second) return;
  captured_of_.try_emplace(python.get(), captured.get());
  kept_.push_back(Ref::share(captured));
  kept_.push_back(Ref::share(python));
}

void ValueComparison::know_storage(const StoragePtr& storage) {
  const void* memory = memory_of(*storage.get());
  memory_.try_emplace(memory, memory);
  captured_memory_.try_emplace(memory, memory);
}

void ValueComparison::ignore_elements(BorrowedRef tensor) {
  undefined_.insert(tensor.get());
  kept_.push_back(Ref::share(tensor));
}

void ValueComparison::loosen(BorrowedRef tensor, double tolerance) {
  tolerances_[tensor.get()] = tolerance;
  kept_.push_back(Ref::share(tensor));
}

PyObject* ValueComparison::python_of(BorrowedRef captured) const {
  auto found = python_of_.find(captured.get());
  return found != python_of_.end() ? found->second : captured.get();
}

void ValueComparison::differ(const std::string& place, std::string text, BorrowedRef captured, BorrowedRef python) {
  if (!difference_) difference_ = {place, std::move(text), Ref::share(captured), Ref::share(python)};
}

void ValueComparison::push(std::string place, BorrowedRef captured, BorrowedRef python) {
  pairs_.push_back({std::move(place), Ref::share(captured), Ref::share(python)});
}

void ValueComparison::push_attribute(const Pair& pair, const char* name) {
  push(str_cat(pair.place, ".", name), attribute_of(pair.captured, name), attribute_of(pair.python, name));
}

void ValueComparison::compare(const std::string& place, BorrowedRef captured, BorrowedRef python) {
  push(place, captured, python);
  run();
}

void ValueComparison::run() {
  if (std::exchange(is_running_, true)) return;
  while (!pairs_.empty() && !difference_) {
    Pair pair = std::move(pairs_.back());
    pairs_.pop_back();
    compare_pair(pair);
    kept_.push_back(std::move(pair.captured));
    kept_.push_back(std::move(pair.python));
  }
  pairs_.clear();
  is_running_ = false;
}

void ValueComparison::compare_pair(const Pair& pair) {
  if (!pair.captured && !pair.python) return;
  if (!pair.captured || !pair.python)
    return differ(pair.place, pair.captured ? "set, in Python unset" : "unset, in Python set", pair.captured,
                  pair.python);
  if (compare_atoms(pair)) return;
  if (pair.captured.get() != pair.python.get() && !same_types(pair)) return;
  if (pair_up(pair) && pair.captured.get() != pair.python.get()) look_inside(pair);
}

// Returns false if they have an identity.
bool ValueComparison::compare_atoms(const Pair& pair) {
  auto has_identity = [](PyObject* object) { return !is_atom(object) && !is_constant_set(object); };
  if (has_identity(pair.captured) || has_identity(pair.python)) return false;
  if (!same_atoms(pair.captured, pair.python, tolerance_))
    differ(pair.place, "another value", pair.captured, pair.python);
  return true;
}

// Classes created by the region are compared by their contents.
bool ValueComparison::same_types(const Pair& pair) {
  auto *captured = reinterpret_cast<PyObject*>(pair.captured.type()),
       *python = reinterpret_cast<PyObject*>(pair.python.type());
  if (captured == python || python_of(captured) == python) return true;
  bool are_made = PyType_HasFeature(pair.captured.type(), Py_TPFLAGS_HEAPTYPE) &&
                  PyType_HasFeature(pair.python.type(), Py_TPFLAGS_HEAPTYPE) && !is_known(captured) &&
                  !captured_of_.contains(python) &&
                  std::string(pair.captured.type()->tp_name) == pair.python.type()->tp_name;
  if (!are_made) {
    differ(pair.place, "another type", pair.captured, pair.python);
    return false;
  }
  push(pair.place + ".__class__", captured, python);
  return true;
}

// Returns true the first time.
bool ValueComparison::pair_up(const Pair& pair) {
  auto [found, is_new] = python_of_.try_emplace(pair.captured.get(), pair.python.get());
  auto [back, is_new_back] = captured_of_.try_emplace(pair.python.get(), pair.captured.get());
  if (found->second != pair.python.get() || back->second != pair.captured.get())
    differ(pair.place, "another object than in Python: one of them is what is elsewhere too", pair.captured,
           pair.python);
  return is_new && is_new_back;
}

void ValueComparison::look_inside(const Pair& pair) {
  PyObject* captured = pair.captured;
  if (family_of(captured) != nullptr) return look_inside_tensor(pair);
  if (PyType_Check(captured)) return look_inside_class(pair);
  if (PyModule_Check(captured)) return differ(pair.place, "another module", pair.captured, pair.python);
  if (look_inside_callable(pair)) return;
  bool is_container = look_inside_container(pair);
  if (PyExceptionInstance_Check(captured)) look_inside_exception(pair);
  look_inside_instance(pair);
  if (!is_container) look_inside_reduced(pair);
}

void ValueComparison::push_items(const Pair& pair, BorrowedRef captured, BorrowedRef python) {
  Py_ssize_t count = PySequence_Fast_GET_SIZE(captured.get());
  if (count != PySequence_Fast_GET_SIZE(python.get()))
    return differ(pair.place, str_cat("length ", count, ", in Python ", PySequence_Fast_GET_SIZE(python.get())),
                  pair.captured, pair.python);
  for (Py_ssize_t i = 0; i < count; ++i)
    push(str_cat(pair.place, "[", i, "]"), PySequence_Fast_ITEMS(captured.get())[i],
         PySequence_Fast_ITEMS(python.get())[i]);
}

void ValueComparison::compare_entries(const std::string& place, BorrowedRef captured, BorrowedRef python) {
  compare_items(place, items_of_dict(captured), items_of_dict(python));
}

void ValueComparison::compare_items(const std::string& place, BorrowedRef ours, BorrowedRef theirs) {
  if (PyList_GET_SIZE(ours.get()) != PyList_GET_SIZE(theirs.get()))
    return differ(place, str_cat(PyList_GET_SIZE(ours.get()), " keys, in Python ", PyList_GET_SIZE(theirs.get())), ours,
                  theirs);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ours.get()); ++i) {
    PyObject *a = PyList_GET_ITEM(ours.get(), i), *b = PyList_GET_ITEM(theirs.get(), i);
    push(str_cat(place, ", key ", i), PyTuple_GET_ITEM(a, 0), PyTuple_GET_ITEM(b, 0));
    push(str_cat(place, "[", key_text(PyTuple_GET_ITEM(a, 0)), "]"), PyTuple_GET_ITEM(a, 1), PyTuple_GET_ITEM(b, 1));
  }
  run();
}

bool ValueComparison::look_inside_container(const Pair& pair) {
  PyObject *captured = pair.captured, *python = pair.python;
  if (PyList_Check(captured) || PyTuple_Check(captured)) {
    push_items(pair, captured, python);
  } else if (PyDict_Check(captured)) {
    if (PyObject_HasAttrString(captured, "default_factory")) push_attribute(pair, "default_factory");
    compare_entries(pair.place, captured, python);
  } else if (PyAnySet_Check(captured)) {
    look_inside_set(pair);
  } else if (PyObject_TypeCheck(captured, deque_type())) {
    push_attribute(pair, "maxlen");
    push_items(pair, check(PySequence_List(captured)), check(PySequence_List(python)));
  } else if (PyCell_Check(captured)) {
    push(pair.place + " (cell)", PyCell_GET(captured), PyCell_GET(python));
  } else {
    return false;
  }
  return true;
}

// The order depends on hashes, which for new objects depend on addresses.
void ValueComparison::look_inside_set(const Pair& pair) {
  if (PySet_GET_SIZE(pair.captured.get()) != PySet_GET_SIZE(pair.python.get()))
    return differ(pair.place, "another number of elements", pair.captured, pair.python);
  // User-defined __hash__ and __eq__ are not called: atoms are looked up by value, other objects by identity.
  struct Elements {
    Ref atoms = check(PySet_New(nullptr));
    std::unordered_set<PyObject*> others;
  };
  auto elements_of = [](PyObject* set) {
    Elements found;
    Py_ssize_t at = 0;
    PyObject* item = nullptr;
    while (pv_next_in_set(set, &at, &item) != 0) {
      if (is_atom(item)) {
        check_status(PySet_Add(found.atoms, item));
      } else {
        found.others.insert(item);
      }
    }
    return found;
  };
  Elements captured = elements_of(pair.captured), python = elements_of(pair.python);
  if (!is_equal(captured.atoms, python.atoms)) return differ(pair.place, "another element", pair.captured, pair.python);
  std::vector<PyObject*> ours, theirs;
  auto add_new = [&](const Elements& from, const auto& known, const Elements& to, std::vector<PyObject*>& rest) {
    for (PyObject* item : from.others) {
      auto found = known.find(item);
      if (found == known.end()) {
        rest.push_back(item);
      } else if (!to.others.contains(found->second)) {
        differ(pair.place, "another element", pair.captured, pair.python);
      }
    }
  };
  add_new(captured, python_of_, python, ours);
  add_new(python, captured_of_, captured, theirs);
  if (ours.size() != theirs.size()) return differ(pair.place, "other elements", pair.captured, pair.python);
  if (ours.size() == 1) push(pair.place + ", an element", ours.front(), theirs.front());
}

bool ValueComparison::look_inside_callable(const Pair& pair) {
  PyObject* captured = pair.captured;
  if (PyFunction_Check(captured)) {
    look_inside_function(pair);
  } else if (PyMethod_Check(captured)) {
    push_attribute(pair, "__func__");
    push_attribute(pair, "__self__");
  } else if (PyCFunction_Check(captured)) {
    push_attribute(pair, "__self__");
    push_attribute(pair, "__name__");
  } else if (PyWeakref_Check(captured)) {
    push(pair.place + "()", referent_of(captured), referent_of(pair.python));
  } else {
    return false;
  }
  return true;
}

void ValueComparison::look_inside_function(const Pair& pair) {
  auto *ours = reinterpret_cast<PyFunctionObject*>(pair.captured.get()),
       *theirs = reinterpret_cast<PyFunctionObject*>(pair.python.get());
  auto push_part = [&](const char* name, PyObject* captured, PyObject* python) {
    push(str_cat(pair.place, ".", name), captured, python);
  };
  push_part("__code__", ours->func_code, theirs->func_code);
  if (ours->func_globals != theirs->func_globals) differ(pair.place, "other globals", pair.captured, pair.python);
  push_part("__defaults__", ours->func_defaults, theirs->func_defaults);
  push_part("__kwdefaults__", ours->func_kwdefaults, theirs->func_kwdefaults);
  // The closure tuple itself is not shared.
  if (ours->func_closure != nullptr && theirs->func_closure != nullptr) {
    push_items({pair.place + ".__closure__", pair.captured, pair.python}, ours->func_closure, theirs->func_closure);
  } else {
    push_part("__closure__", ours->func_closure, theirs->func_closure);
  }
  push_part("__name__", ours->func_name, theirs->func_name);
  push_part("__qualname__", ours->func_qualname, theirs->func_qualname);
  push_part("__module__", ours->func_module, theirs->func_module);
  push_part("__doc__", ours->func_doc, theirs->func_doc);
  Ref dict = attribute_of(pair.captured, "__dict__"), other = attribute_of(pair.python, "__dict__");
  if (dict && other) compare_entries(pair.place + ".__dict__", dict, other);
}

void ValueComparison::look_inside_class(const Pair& pair) {
  push_attribute(pair, "__name__");
  push_attribute(pair, "__qualname__");
  push_attribute(pair, "__bases__");
  Ref ours = check(PyDict_Copy(pv_type_dict(reinterpret_cast<PyTypeObject*>(pair.captured.get()))));
  Ref theirs = check(PyDict_Copy(pv_type_dict(reinterpret_cast<PyTypeObject*>(pair.python.get()))));
  // Created for each class: its own descriptors, and the state of abstract classes.
  for (const char* own : {"__dict__", "__weakref__", "_abc_impl", "__subclasshook__"})
    for (const Ref* dict : {&ours, &theirs})
      if (PyDict_DelItemString(*dict, own) < 0) PyErr_Clear();
  compare_entries(pair.place + ".__dict__", ours, theirs);
}

void ValueComparison::look_inside_exception(const Pair& pair) {
  push_attribute(pair, "args");
  if (ignores_links_) return;
  for (const char* part : {"__cause__", "__context__", "__suppress_context__"}) push_attribute(pair, part);
}

void ValueComparison::look_inside_instance(const Pair& pair) {
  Ref ours = own_dict(pair.captured), theirs = own_dict(pair.python);
  if (ours && theirs) compare_entries(pair.place + ".__dict__", ours, theirs);
  if (PyType_HasFeature(pair.captured.type(), Py_TPFLAGS_HEAPTYPE)) push_slots(pair);
}

void ValueComparison::push_slots(const Pair& pair) {
  if (pair.captured.type() != pair.python.type()) return;
  PyObject* order = pair.captured.type()->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order); ++i) {
    PyObject* dict = pv_type_dict(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, i)));
    Py_ssize_t at = 0;
    PyObject *name = nullptr, *descriptor = nullptr;
    while (PyDict_Next(dict, &at, &name, &descriptor) != 0) {
      if (!is_object_slot(descriptor)) continue;
      Ref ours = Ref::steal(PyObject_GenericGetAttr(pair.captured, name));
      if (!ours) PyErr_Clear();
      Ref theirs = Ref::steal(PyObject_GenericGetAttr(pair.python, name));
      if (!theirs) PyErr_Clear();
      push(str_cat(pair.place, ".", text_of(name)), ours, theirs);
    }
  }
}

namespace {

// The remaining values: equal iterators may start at different places in ranges of different lengths.
// Null if it is no such iterator.
Ref rest_of_range(BorrowedRef iterator) {
  if (!Py_IS_TYPE(iterator.get(), &PyRangeIter_Type) && !Py_IS_TYPE(iterator.get(), &PyLongRangeIter_Type))
    return nullptr;
  Ref reduced = check(PyObject_CallMethod(iterator, "__reduce__", nullptr));
  Py_ssize_t begin = 0;
  if (PyTuple_GET_SIZE(reduced.get()) > 2 && PyTuple_GET_ITEM(reduced.get(), 2) != Py_None)
    begin = PyNumber_AsSsize_t(PyTuple_GET_ITEM(reduced.get(), 2), nullptr);
  PyObject* range = PyTuple_GET_ITEM(PyTuple_GET_ITEM(reduced.get(), 1), 0);
  return check(PySequence_GetSlice(range, begin, PY_SSIZE_T_MAX));
}

// The remaining part of a reversed iterator over a str or tuple, however it is stored. Null if it is no such iterator.
Ref rest_backward(BorrowedRef iterator) {
  if (!Py_IS_TYPE(iterator.get(), &PyReversed_Type)) return nullptr;
  Ref reduced = check(PyObject_CallMethod(iterator, "__reduce__", nullptr));
  PyObject* sequence = PyTuple_GET_ITEM(PyTuple_GET_ITEM(reduced.get(), 1), 0);
  if (!PyUnicode_CheckExact(sequence) && !PyTuple_CheckExact(sequence)) return nullptr;
  Ref rest = check(PySequence_List(sequence));
  bool has_index = PyTuple_GET_SIZE(reduced.get()) > 2;
  Py_ssize_t count = has_index ? PyNumber_AsSsize_t(PyTuple_GET_ITEM(reduced.get(), 2), nullptr) + 1 : 0;
  check_status(PyList_SetSlice(rest, count, PY_SSIZE_T_MAX, nullptr));
  return rest;
}

// An exhausted reversed iterator stays exhausted, whatever happens to its sequence.
bool has_ended_backward(BorrowedRef iterator) {
  static PyTypeObject* const of_lists = [] {
    Ref list = check(PyList_New(0)), made = check(PyObject_CallMethod(list, "__reversed__", nullptr));
    return reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(made.type())));
  }();
  bool is_backward = Py_IS_TYPE(iterator.get(), of_lists) || Py_IS_TYPE(iterator.get(), &PyReversed_Type);
  return is_backward && PyObject_LengthHint(iterator, 1) == 0;
}

}  // namespace

// Iterators, functools.partial and other C objects are compared by __reduce__; instances
// of user-defined classes are not.
void ValueComparison::look_inside_reduced(const Pair& pair) {
  if (Ref ours = rest_of_range(pair.captured))
    return push(pair.place + " (what is to come)", ours, rest_of_range(pair.python));
  Ref ours = rest_backward(pair.captured), theirs = ours ? rest_backward(pair.python) : Ref();
  if (theirs) return push(pair.place + " (what is to come)", ours, theirs);
  if (has_ended_backward(pair.captured) && has_ended_backward(pair.python)) return;
  static PyObject* const name = PyUnicode_InternFromString("__reduce__");
  PyObject* reduce = _PyType_Lookup(pair.captured.type(), name);
  bool is_own = reduce != nullptr && Py_IS_TYPE(reduce, &PyMethodDescr_Type) &&
                PyDescr_TYPE(reduce) != &PyBaseObject_Type && !PyExceptionInstance_Check(pair.captured.get());
  if (is_own) {
    Ref ours = Ref::steal(PyObject_CallOneArg(reduce, pair.captured));
    Ref theirs = ours ? Ref::steal(PyObject_CallOneArg(reduce, pair.python)) : Ref();
    if (!theirs) return PyErr_Clear();
    return push(pair.place + ".__reduce__()", ours, theirs);
  }
  for (const char* part : {"__func__", "__wrapped__", "__self__", "__thisclass__", "mapping", "fget", "fset", "fdel"}) {
    if (PyType_HasFeature(pair.captured.type(), Py_TPFLAGS_HEAPTYPE)) return;
    Ref ours = attribute_of(pair.captured, part), theirs = attribute_of(pair.python, part);
    if (!ours && !theirs) continue;
    // A mapping proxy is created anew at each access.
    if (ours && theirs && Py_IS_TYPE(ours.get(), &PyDictProxy_Type)) {
      push(str_cat(pair.place, ".", part), pv_shown_mapping(ours), pv_shown_mapping(theirs));
    } else {
      push(str_cat(pair.place, ".", part), ours, theirs);
    }
  }
}

void ValueComparison::look_inside_tensor(const Pair& pair) {
  Tensor ours = tensor_of_object(pair.captured), theirs = tensor_of_object(pair.python);
  bool is_ours = family_of(pair.captured)->contained != nullptr;
  ComparedStrides compared = is_ours ? ComparedStrides::All : ComparedStrides::ThoseToElements;
  if (std::string text = spec_difference(ours, theirs, compared); !text.empty())
    return differ(pair.place, text, pair.captured, pair.python);
  if (ours->storage() && theirs->storage()) {
    const void *captured = memory_of(*ours->storage().get()), *python = memory_of(*theirs->storage().get());
    auto found = memory_.try_emplace(captured, python).first;
    auto back = captured_memory_.try_emplace(python, captured).first;
    if (found->second != python || back->second != captured)
      return differ(pair.place, "memory is shared that is not in Python, or the other way round", pair.captured,
                    pair.python);
    if (ours->offset() != theirs->offset())
      return differ(pair.place,
                    str_cat("begins at element ", ours->offset(), " of its memory, in Python at ", theirs->offset()),
                    pair.captured, pair.python);
  }
  if (!undefined_.contains(pair.captured.get())) {
    auto found = tolerances_.find(pair.captured.get());
    double tolerance = found != tolerances_.end() ? found->second : 0;
    if (std::string text = element_difference(ours, theirs, tolerance); !text.empty())
      return differ(pair.place, text, pair.captured, pair.python);
  }
  Ref dict = own_dict(pair.captured), other = own_dict(pair.python);
  if (dict && other) compare_entries(pair.place + ".__dict__", dict, other);
}

}  // namespace md
