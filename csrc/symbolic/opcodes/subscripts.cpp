// Subscripts and slices: reading, writing and deleting.
#include <algorithm>

#include "cpython/imports.h"
#include "frontends/tensor_language.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/mapping_proxies.h"
#include "symbolic/facts/user_keys.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/size_constants.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/tensors/tensor_callables.h"
#include "symbolic/tensors/tensor_indexing.h"
#include "symbolic/tensors/tensor_parts.h"
#include "symbolic/trace/loops.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

// Probes which value a defaultdict returns and keeps if its factory has already stored an item at the key: that item
// (true), or the result of the factory; CPython releases differ.
bool keeps_item_of_factory() {
  static const bool keeps = [] {
    Ref names = check(PyDict_New());
    check_status(PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()));
    const char* probe =
        "items = __import__('collections').defaultdict(lambda: items.setdefault(0, True) and False)\n"
        "keeps = items[0]\n";
    check(PyRun_String(probe, Py_file_input, names, names));
    return PyDict_GetItemString(names, "keeps") == Py_True;
  }();
  return keeps;
}

// missing_item() for a pre-existing dict.
ValuePtr missing_in_object(Tracer& tracer, const ValuePtr& container, BorrowedRef known, const ValuePtr& key) {
  static PyObject* const default_dict = imported("collections", "defaultdict").release();
  static PyObject* const kFactory = check(PyObject_GetAttrString(default_dict, "default_factory")).release();
  static PyObject* const kMissing = PyUnicode_InternFromString("__missing__");
  if (container->kind != ValueKind::Object || type_of(container) == &PyDict_Type) return nullptr;
  if (type_of(container) == reinterpret_cast<PyTypeObject*>(default_dict)) {
    const Source* source = tracer.sources().get(SourceKind::SlotAttr, as<ObjectValue>(container)->source, kFactory);
    ValuePtr factory = value_at(tracer, source);
    if (!factory) graph_break(BreakReason::unknown_subscript, "a defaultdict without a factory");
    if (same_object(tracer, factory, tracer.values().none())) return nullptr;
    ValuePtr made = call_now(tracer, factory, {});
    tracer.cannot_undo();
    if (ValuePtr stored = keeps_item_of_factory() ? dict_item(tracer, container, known) : nullptr) return stored;
    store_in_dict(tracer, container, known, made);
    return made;
  }
  if (!PyType_HasFeature(type_of(container), Py_TPFLAGS_HEAPTYPE)) return nullptr;
  ValuePtr method = type_attribute(tracer, container, kMissing);
  return method ? call_now(tracer, method, {{container, key}, {}}) : nullptr;
}

// The result of a missing key for a dict subclass; null if there is no default.
ValuePtr missing_item(Tracer& tracer, const ValuePtr& container, BorrowedRef known, const ValuePtr& key) {
  static PyObject* const kMissing = PyUnicode_InternFromString("__missing__");
  auto* dict = as<DictValue>(container);
  if (dict == nullptr) return missing_in_object(tracer, container, known, key);
  if (!dict->type) return nullptr;
  if (dict->factory && !same_object(tracer, dict->factory, tracer.values().none())) {
    ValuePtr made = call_now(tracer, dict->factory, {});
    tracer.cannot_undo();
    if (ValuePtr stored = keeps_item_of_factory() ? dict_item(tracer, container, known) : nullptr) return stored;
    dict->set(known, made);
    return made;
  }
  ValuePtr method = PyType_HasFeature(type_of(container), Py_TPFLAGS_HEAPTYPE)
                        ? type_attribute(tracer, container, kMissing)
                        : nullptr;
  return method ? call_now(tracer, method, {{container, key}, {}}) : nullptr;
}

ValuePtr subscript_of_dict(Tracer& tracer, const ValuePtr& container, const ValuePtr& key) {
  LoopScope::current().note_choice(key);
  bool may_store = type_of(container) != &PyDict_Type;
  Ref known = may_store ? key_of(tracer, key) : lookup_key(tracer, container, key);
  ValuePtr item = dict_item(tracer, container, known.get());
  if (!item) item = missing_item(tracer, container, known.get(), key);
  if (!item) raise_known(tracer, PyExc_KeyError, {key});
  return item;
}

ValuePtr subscript_of_sequence(Tracer& tracer, const ValuePtr& container, const ValuePtr& key) {
  LoopScope::current().note_choice(key);
  auto elements = elements_of(tracer, container);
  if (std::optional<int64_t> index = int_of(tracer, key)) {
    int64_t length = static_cast<int64_t>(elements->size());
    int64_t at = *index < 0 ? *index + length : *index;
    if (at < 0 || at >= length) {
      PyTypeObject* type = tracer.values().exact_type(container);
      const char* name = PyType_IsSubtype(type, &PyList_Type) ? "list" : is_deque(container) ? "deque" : "tuple";
      raise_known(tracer, PyExc_IndexError, {tracer.values().string(str_cat(name, " index out of range"))});
    }
    return (*elements)[at];
  }
  if (is_tensor(key)) graph_break(BreakReason::tensor_to_number, str_cat("an index of a ", describe(container)));
  Ref constant = constant_of(tracer, key);
  if (!constant || !PySlice_Check(constant.get()) || is_deque(container)) raise_here();
  if (BorrowedRef size = size_constant(container)) {
    Ref part = Ref::steal(PyObject_GetItem(size, constant));
    if (!part) raise_here();
    return tracer.values().constant(part);
  }
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(constant, &start, &stop, &step) < 0) raise_here();
  Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(elements->size()), &start, &stop, step);
  std::vector<ValuePtr> items;
  for (Py_ssize_t i = 0; i < count; ++i) items.push_back((*elements)[start + i * step]);
  bool is_list = PyType_IsSubtype(tracer.values().exact_type(container), &PyList_Type) != 0;
  if (is_shape(container)) return shape_of_items(tracer, type_of(container), std::move(items));
  return make_value<SequenceValue>(is_list, std::move(items));
}

// list[int] and similar, on a built-in class: a new alias object each time.
bool makes_generic_alias(PyTypeObject* type, PyObject* name) {
  if (type == &PyType_Type) return true;
  PyObject* hook = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ? nullptr : _PyType_Lookup(type, name);
  return hook != nullptr && Py_IS_TYPE(hook, &PyClassMethodDescr_Type) &&
         reinterpret_cast<PyMethodDescrObject*>(hook)->d_method->ml_meth == &Py_GenericAlias;
}

// The result of subscripting a generic class.
ValuePtr subscript_of_class(Tracer& tracer, const ValuePtr& type, const ValuePtr& key) {
  static PyObject* const kClassGetitem = PyUnicode_InternFromString("__class_getitem__");
  static PyObject* const kGetitem = imported("operator", "getitem").release();
  auto* known = reinterpret_cast<PyTypeObject*>(tracer.values().identity_of(type).get());
  if (makes_generic_alias(known, kClassGetitem)) {
    auto alias =
        make_value<ConstructedValue>(tracer.values().constant(reinterpret_cast<PyObject*>(&Py_GenericAliasType)),
                                     std::vector<ValuePtr>{type, key}, std::vector<std::pair<Ref, ValuePtr>>{});
    alias->maker = tracer.values().constant(kGetitem);
    return alias;
  }
  bool is_python = PyType_HasFeature(known, Py_TPFLAGS_HEAPTYPE);
  ValuePtr method = is_python ? optional_attribute(tracer, type, kClassGetitem) : nullptr;
  if (!method) graph_break(BreakReason::unknown_subscript, str_cat(describe(type), "[", describe(key), "]"));
  return call_now(tracer, method, {{key}, {}});
}

// Converts the key of a built-in sequence by its __index__ in Python; any other key is returned unchanged.
ValuePtr index_by_method(Tracer& tracer, const ValuePtr& container, const ValuePtr& key) {
  static PyObject* const kIndex = PyUnicode_InternFromString("__index__");
  bool is_sequence =
      is_plain_tuple(tracer, container) || is_plain_list(tracer, container) ||
      (!has_user_type(container) && type_of(container)->tp_as_sequence != nullptr && constant_of(tracer, container));
  // An int is its own index, even if its class defines __index__.
  bool is_int = PyType_IsSubtype(type_of(key), &PyLong_Type) != 0;
  ValuePtr method = is_sequence && !is_int && is_user_object(key) ? user_method(tracer, key, kIndex) : nullptr;
  if (!method) return key;
  ValuePtr number = call_now(tracer, method, {{key}, {}});
  if (!tracer.values().is_exactly(number, &PyLong_Type)) raise_here();
  return number;
}

// container[key]; null: a user's __getitem__ was inlined.
ValuePtr subscript(Tracer& tracer, const ValuePtr& asked, const ValuePtr& given) {
  const ValuePtr container = plain_or_itself(tracer, behind_proxy(tracer, asked), {"__getitem__"});
  if (auto* tensor = as<TensorValue>(container)) return index_tensor(tracer, tensor, given);
  ValuePtr key = is_user_object(given) ? index_by_method(tracer, container, given) : given;
  PyTypeObject* type = type_of(container);
  if (is_dict(tracer, container, {"__getitem__"})) return subscript_of_dict(tracer, container, key);
  if (type == &PyList_Type || is_plain_tuple(tracer, container) || is_plain_list(tracer, container))
    return subscript_of_sequence(tracer, container, key);
  if (ValuePtr item = call_member_of_part(tracer, container, "__getitem__", {key})) return item;
  auto* made = as<ConstructedValue>(container);
  Ref whole = made != nullptr ? made->model : constant_of(tracer, container);
  Ref constant = whole ? constant_of(tracer, key) : Ref();
  if (constant) {
    Ref item = Ref::steal(PyObject_GetItem(whole, constant));
    if (!item) raise_current(tracer);
    return tracer.values().constant(item);
  }
  if (type == &PyType_Type) return subscript_of_class(tracer, container, key);
  static PyObject* const kGetitem = PyUnicode_InternFromString("__getitem__");
  ValuePtr method = user_method(tracer, container, kGetitem);
  if (!method) graph_break(BreakReason::unknown_subscript, str_cat(describe(container), "[", describe(key), "]"));
  auto* function = as<ObjectValue>(method);
  if (const TensorCallable* known = function != nullptr ? find_tensor_callable(function->object) : nullptr) {
    tracer.values().identity_of(method);
    return call_tensor_callable(tracer, *known, {{container, key}, {}});
  }
  inline_function(tracer, method, {{container, key}, {}}, ContinuationKind::Push, nullptr);
  return nullptr;
}

void binary_subscr(Tracer& tracer, const Instruction&) {
  ValuePtr result = subscript(tracer, tracer.frames().peek(2), tracer.frames().peek(1));
  if (!result) return tracer.frames().drop_below_callee(2);
  tracer.frames().pop_many(2);
  tracer.frames().push(std::move(result));
}

void binary_slice(Tracer& tracer, const Instruction&) {
  ValuePtr slice = make_value<SliceValue>(tracer.frames().peek(2), tracer.frames().peek(1), tracer.values().none());
  ValuePtr result = subscript(tracer, tracer.frames().peek(3), slice);
  if (!result) return tracer.frames().drop_below_callee(3);
  tracer.frames().pop_many(3);
  tracer.frames().push(std::move(result));
}

// replace_elements() for a slice with a step: rewrites the list as a whole.
void replace_steps(Tracer& tracer, const ValuePtr& list, const Ref& slice, const std::vector<ValuePtr>* values) {
  std::vector<ValuePtr> items = list_contents(tracer, list)->items;
  Py_ssize_t start = 0, stop = 0, step = 1, length = static_cast<Py_ssize_t>(items.size());
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) raise_here();
  Py_ssize_t count = PySlice_AdjustIndices(length, &start, &stop, step);
  if (values != nullptr && static_cast<Py_ssize_t>(values->size()) != count) raise_here();
  std::vector<ValuePtr> result;
  for (Py_ssize_t i = 0; i < length; ++i) {
    Py_ssize_t distance = i - start;
    bool hit = distance % step == 0 && distance / step >= 0 && distance / step < count;
    if (!hit) result.push_back(items[static_cast<size_t>(i)]);
    if (hit && values != nullptr) result.push_back((*values)[static_cast<size_t>(distance / step)]);
  }
  list_splice(tracer, list, 0, length, std::move(result));
}

// list[key] = value, or del list[key] if value is null; key is an int or a slice.
void replace_elements(Tracer& tracer, const ValuePtr& list, const ValuePtr& key, const ValuePtr* value) {
  std::optional<int64_t> index = int_of(tracer, key);
  Ref slice = index ? Ref() : constant_of(tracer, key);
  if (!index && (!slice || !PySlice_Check(slice.get())))
    graph_break(BreakReason::store_subscript, str_cat(describe(list), "[", describe(key), "]"));
  std::vector<ValuePtr> values;
  if (slice && value != nullptr) {
    auto items = iterate(tracer, *value);
    if (!items) graph_break(BreakReason::unknown_iteration, describe(*value));
    values = std::move(*items);
  } else if (value != nullptr) {
    values.push_back(*value);
  }
  const SequenceValue* contents = list_contents(tracer, list);
  if (contents == nullptr) graph_break(BreakReason::store_subscript, "into a list of a class of its own");
  Py_ssize_t length = static_cast<Py_ssize_t>(contents->items.size());
  Py_ssize_t start = 0, stop = 0, step = 1;
  if (index) {
    start = *index < 0 ? *index + length : *index;
    if (start < 0 || start >= length) raise_here();
    stop = start + 1;
  } else {
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) raise_here();
    PySlice_AdjustIndices(length, &start, &stop, step);
    if (step != 1) return replace_steps(tracer, list, slice, value != nullptr ? &values : nullptr);
    stop = std::max(start, stop);
  }
  list_splice(tracer, list, start, stop, std::move(values));
}

bool has_items_of_list(Tracer& tracer, const ValuePtr& container, const char* method) {
  PyTypeObject* type = type_of(container);
  if (type == &PyList_Type) return true;
  return type != nullptr && PyType_IsSubtype(type, &PyList_Type) && inherits(tracer, container, &PyList_Type, {method});
}

bool store_in_deque(Tracer& tracer, const ValuePtr& deque, const ValuePtr& key, const ValuePtr& value) {
  std::optional<int64_t> index = int_of(tracer, key), length = length_of(tracer, deque);
  if (!index || !length) return false;
  int64_t at = *index < 0 ? *index + *length : *index;
  if (at < 0 || at >= *length)
    raise_known(tracer, PyExc_IndexError, {tracer.values().string("deque index out of range")});
  (*deque_contents(tracer, deque, /*keeps_iterators=*/true))[static_cast<size_t>(at)] = value;
  return true;
}

void store_subscr(Tracer& tracer, const Instruction&) {
  ValuePtr key = tracer.frames().peek(1), container = tracer.frames().peek(2), value = tracer.frames().peek(3);
  if (is_dict(tracer, container, {"__setitem__"})) {
    dict_set(tracer, container, key_in(tracer, container, key).get(), value);
  } else if (has_items_of_list(tracer, container, "__setitem__")) {
    replace_elements(tracer, container, key, &value);
  } else if (is_deque(container) && store_in_deque(tracer, container, key, value)) {
  } else if (is_tensor(container)) {
    store_into_tensor(tracer, container, key, value);
  } else if (call_member_of_part(tracer, container, "__setitem__", {key, value})) {
  } else if (inline_item(tracer, container, {key, value}, "__setitem__", 3)) {
    return;
  } else {
    graph_break(BreakReason::store_subscript, str_cat(describe(container), "[", describe(key), "]"));
  }
  tracer.frames().pop_many(3);
}

void delete_subscr(Tracer& tracer, const Instruction&) {
  ValuePtr key = tracer.frames().peek(1), container = tracer.frames().peek(2);
  if (has_items_of_list(tracer, container, "__delitem__")) {
    replace_elements(tracer, container, key, nullptr);
    tracer.frames().pop_many(2);
    return;
  }
  if (inline_item(tracer, container, {key}, "__delitem__", 2)) return;
  if (!is_dict(tracer, container, {"__delitem__"}))
    graph_break(BreakReason::store_subscript, str_cat("del ", describe(container), "[", describe(key), "]"));
  Ref constant = key_in(tracer, container, key);
  if (!dict_delete(tracer, container, constant.get())) raise_known(tracer, PyExc_KeyError, {key});
  tracer.frames().pop_many(2);
}

void store_slice(Tracer& tracer, const Instruction&) {
  ValuePtr container = tracer.frames().peek(3), value = tracer.frames().peek(4);
  ValuePtr slice = make_value<SliceValue>(tracer.frames().peek(2), tracer.frames().peek(1), tracer.values().none());
  if (type_of(container) == &PyList_Type) {
    replace_elements(tracer, container, slice, &value);
  } else if (is_tensor(container)) {
    store_into_tensor(tracer, container, slice, value);
  } else if (!call_member_of_part(tracer, container, "__setitem__", {slice, value})) {
    graph_break(BreakReason::store_subscript, str_cat(describe(container), "[slice]"));
  }
  tracer.frames().pop_many(4);
}

void get_len(Tracer& tracer, const Instruction&) {
  std::optional<int64_t> length = length_of(tracer, tracer.frames().peek());
  if (!length) graph_break(BreakReason::unknown_length, describe(tracer.frames().peek()));
  tracer.frames().push(tracer.values().integer(*length));
}

const OpcodeRegistration registration{{Opcode::BINARY_SUBSCR, binary_subscr}, {Opcode::BINARY_SLICE, binary_slice},
                                      {Opcode::STORE_SUBSCR, store_subscr},   {Opcode::DELETE_SUBSCR, delete_subscr},
                                      {Opcode::STORE_SLICE, store_slice},     {Opcode::GET_LEN, get_len}};

}  // namespace

}  // namespace md
