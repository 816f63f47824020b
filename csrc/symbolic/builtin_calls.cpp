// Builtins that the walk knows for values that are not all constants.
#include "cpython/imports.h"
#include "cpython/version_facts.h"
#include "symbolic/enum_values.h"
#include "symbolic/name_spaces.h"
#include "symbolic/pure_calls.h"
#include "symbolic/user_operators.h"
#include "tensor/tensor_modes.h"

#include <algorithm>

namespace md {

namespace {

[[noreturn]] void break_on_builtin(Walk& walk, const char* name, const ValuePtr& value) {
  walk.graph_break(BreakReason::builtin_call, str_cat(name, "(", describe(value), ")"));
}

std::vector<ValuePtr> iterated(Walk& walk, const char* name, const ValuePtr& value,
                               LengthHint hint = LengthHint::Unknown) {
  auto items = walk.iterate(value, hint);
  if (!items) break_on_builtin(walk, name, value);
  return std::move(*items);
}

ValuePtr call_len(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 1, 1);
  const ValuePtr& value = args.positional[0];
  if (auto* tensor = as<TensorValue>(value)) {
    walk.guard_tensor(tensor);
    if (tensor->spec.rank() == 0) walk.raise_here();
    return walk.size_value(tensor->spec.sizes[0]);
  }
  std::optional<int64_t> length = walk.length_of(value);
  if (!length) {
    static PyObject* const kLen = PyUnicode_InternFromString("__len__");
    if (ValuePtr method = walk.user_method(value, kLen)) {
      walk.inline_function(method, {{value}, {}}, ContinuationKind::PushLength, nullptr);
      return nullptr;
    }
  }
  if (!length) walk.graph_break(BreakReason::unknown_length, describe(value));
  return walk.integer(*length);
}

// The hook of an abstract base class runs no code of the program's.
bool has_known_hook(PyTypeObject* type) {
  static PyObject* const kHook = PyUnicode_InternFromString("__subclasshook__");
  static PyObject* const kBelow = PyUnicode_InternFromString("__subclasses__");
  bool has_own_below = _PyType_Lookup(type, kBelow) != nullptr ||
                       _PyType_Lookup(Py_TYPE(type), kBelow) != _PyType_Lookup(&PyType_Type, kBelow);
  if (has_own_below && type != &PyType_Type) return false;
  PyObject* hook = _PyType_Lookup(type, kHook);
  if (hook == _PyType_Lookup(&PyBaseObject_Type, kHook)) return true;
  Ref function = PyFunction_Check(hook) ? Ref::share(hook) : Ref::steal(PyObject_GetAttrString(hook, "__func__"));
  PyErr_Clear();
  if (!function || !PyFunction_Check(function.get())) return false;
  // Those of protocols look at dicts of classes alone.
  static const Ref kModules[] = {check(PyImport_ImportModule("_collections_abc")),
                                 check(PyImport_ImportModule("typing"))};
  return std::ranges::any_of(
      kModules, [&](const Ref& module) { return PyFunction_GET_GLOBALS(function.get()) == PyModule_GetDict(module); });
}

bool all_hooks_known(PyTypeObject* type, int& budget) {
  if (--budget < 0 || !has_known_hook(type)) return false;
  Ref below = check(PyObject_CallMethod(reinterpret_cast<PyObject*>(type), "__subclasses__", nullptr));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(below.get()); ++i)
    if (!all_hooks_known(reinterpret_cast<PyTypeObject*>(PyList_GET_ITEM(below.get(), i)), budget)) return false;
  return true;
}

// What an abstract base class says of a class: it remembers its answers until the next register().
std::optional<bool> abstract_check(Walk& walk, PyTypeObject* type, PyTypeObject* base, const ValuePtr& classinfo,
                                   PyObject* check_name) {
  static PyObject* const abc_meta = imported("abc", "ABCMeta").release();
  const Source* source = walk.source_of(classinfo);
  bool is_abstract = _PyType_Lookup(Py_TYPE(base), check_name) ==
                     _PyType_Lookup(reinterpret_cast<PyTypeObject*>(abc_meta), check_name);
  int budget = 1000;
  if (source == nullptr || !is_abstract || !all_hooks_known(base, budget)) return std::nullopt;
  walk.guards().abc_token(source);
  int found = PyObject_IsSubclass(reinterpret_cast<PyObject*>(type), reinterpret_cast<PyObject*>(base));
  check_status(found);
  return found == 1;
}

// What a __instancecheck__ or __subclasscheck__ in Python says; no answer: the metaclass has none of its own.
std::optional<bool> answer_of_metaclass(Walk& walk, const ValuePtr& asked, const ValuePtr& classinfo,
                                        PyObject* check_name) {
  ValuePtr hook = walk.type_attribute(classinfo, check_name);
  auto* known = as<ObjectValue>(hook);
  static const Ref abc_meta = imported("abc", "ABCMeta");
  bool is_abstract = known != nullptr &&
                     known->object.get() == _PyType_Lookup(reinterpret_cast<PyTypeObject*>(abc_meta.get()), check_name);
  if (known != nullptr && known->source != nullptr) walk.identity_of(hook);
  if (!hook || is_abstract || !walk.is_python_function(hook)) return std::nullopt;
  std::optional<bool> truth = truth_by_methods(walk, walk.call_now(hook, {{classinfo, asked}, {}}));
  if (!truth) walk.graph_break(BreakReason::unknown_truth, "the answer of a metaclass");
  return truth;
}

// isinstance(asked, classinfo) and issubclass, where `type` is the class of what is asked, or it itself.
bool is_subtype_of(Walk& walk, const ValuePtr& asked, PyTypeObject* type, const ValuePtr& classinfo,
                   const char* builtin = "isinstance") {
  if (auto elements = walk.elements_of(classinfo)) {
    for (const ValuePtr& element : *elements)
      if (is_subtype_of(walk, asked, type, element, builtin)) return true;
    return false;
  }
  static PyObject* const union_type = imported("types", "UnionType").release();
  if (auto* parts = as<ObjectValue>(classinfo);
      parts != nullptr && parts->source != nullptr && Py_TYPE(parts->object.get()) == (PyTypeObject*)union_type) {
    walk.exact_type(classinfo);
    Ref member = check(PyObject_GetAttrString(union_type, "__args__"));
    ValuePtr args = walk.at(walk.sources().get(SourceKind::SlotAttr, parts->source, member.get()));
    return is_subtype_of(walk, asked, type, args, builtin);
  }
  auto* made = as<MadeValue>(classinfo);
  if (made != nullptr && type_of(classinfo) == reinterpret_cast<PyTypeObject*>(union_type)) {
    for (const ValuePtr& part : made->positional) {
      auto* object = as<ObjectValue>(part);
      bool is_none = object != nullptr && object->object.get() == Py_None;
      if (is_none ? type == Py_TYPE(Py_None) : is_subtype_of(walk, asked, type, part, builtin)) return true;
    }
    return false;
  }
  PyObject* known = walk.identity_of(classinfo);
  if (known == nullptr || !PyType_Check(known)) break_on_builtin(walk, builtin, classinfo);
  auto* base = reinterpret_cast<PyTypeObject*>(known);
  Ref check_name = check(PyUnicode_InternFromString(std::string_view(builtin) == "issubclass" ? "__subclasscheck__"
                                                                                              : "__instancecheck__"));
  bool has_own_check = _PyType_Lookup(Py_TYPE(known), check_name) != _PyType_Lookup(&PyType_Type, check_name);
  // A metaclass of the program's may be given one.
  ValuePtr kept =
      !has_own_check && Py_TYPE(known) != &PyType_Type ? walk.type_attribute(classinfo, check_name) : nullptr;
  if (kept && walk.source_of(kept) != nullptr) walk.identity_of(kept);
  if (has_own_check) {
    // type(x) is C says enough before C is asked.
    if (type == base && std::string_view(builtin) == "isinstance") return true;
    if (std::optional<bool> answer = answer_of_metaclass(walk, asked, classinfo, check_name)) return *answer;
    std::optional<bool> found = abstract_check(walk, type, base, classinfo, check_name);
    if (!found) break_on_builtin(walk, builtin, classinfo);
    return *found;
  }
  return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(known)) != 0;
}

// Its class, unless it may claim another __class__: that takes a class attribute of that name, or an own way of reading attributes.
PyTypeObject* class_it_shows(Walk& walk, const ValuePtr& value) {
  PyTypeObject* type = walk.exact_type(value);
  static PyObject* const kClass = PyUnicode_InternFromString("__class__");
  static PyObject* const kGetattribute = PyUnicode_InternFromString("__getattribute__");
  PyObject* reading = _PyType_Lookup(type, kGetattribute);
  bool is_proxy = type == &_PyWeakref_ProxyType || type == &_PyWeakref_CallableProxyType;
  if (is_proxy || (reading != nullptr && PyFunction_Check(reading))) break_on_builtin(walk, "isinstance", value);
  if (_PyType_Lookup(type, kClass) != _PyType_Lookup(&PyBaseObject_Type, kClass))
    break_on_builtin(walk, "isinstance", value);
  return type;
}

// What ABCMeta.__instancecheck__(class, object) and __subclasscheck__(class, other) call.
template <bool of_object>
ValuePtr call_abstract_check(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 2, 2);
  const ValuePtr &classinfo = args.positional[0], &asked = args.positional[1];
  PyObject *base = walk.identity_of(classinfo), *other = of_object ? nullptr : walk.identity_of(asked).get();
  if (base == nullptr || !PyType_Check(base)) break_on_builtin(walk, "an abstract check", classinfo);
  if (!of_object && (other == nullptr || !PyType_Check(other))) break_on_builtin(walk, "issubclass", asked);
  auto* type = of_object ? class_it_shows(walk, asked) : reinterpret_cast<PyTypeObject*>(other);
  static PyObject* const kCheck = PyUnicode_InternFromString("__subclasscheck__");
  std::optional<bool> found = abstract_check(walk, type, reinterpret_cast<PyTypeObject*>(base), classinfo, kCheck);
  if (!found) break_on_builtin(walk, "an abstract check", classinfo);
  return walk.boolean(*found);
}

ValuePtr call_isinstance(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 2, 2);
  return walk.boolean(walk.is_instance(args.positional[0], args.positional[1]));
}

ValuePtr call_issubclass(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 2, 2);
  PyObject* type = walk.identity_of(args.positional[0]);
  if (type == nullptr || !PyType_Check(type)) break_on_builtin(walk, "issubclass", args.positional[0]);
  return walk.boolean(
      is_subtype_of(walk, args.positional[0], reinterpret_cast<PyTypeObject*>(type), args.positional[1], "issubclass"));
}

// hash(x): what a __hash__ in Python gives, cut to size as Python does; or that of a key.
ValuePtr call_hash(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 1, 1);
  static PyObject* const kHash = PyUnicode_InternFromString("__hash__");
  const ValuePtr& value = args.positional[0];
  ValuePtr method = is_user_object(value) ? walk.user_method(value, kHash) : nullptr;
  if (!method)
    return walk.constant(
        check(PyLong_FromSsize_t(PyObject_Hash(walk.key_of(plain_or_itself(walk, value, {"__hash__"}))))));
  return walk.constant(hash_by_method(walk, value, method));
}

ValuePtr call_type(Walk& walk, const CallArgs& args) {
  if (args.positional.size() == 3 && args.keywords.empty()) {
    auto entries = walk.entries_of(args.positional[2]);
    if (!entries) walk.graph_break(BreakReason::class_definition, "type() with names that are not known");
    auto names = make_value<DictValue>();
    names->entries = std::move(*entries);
    return make_class(walk, walk.constant(reinterpret_cast<PyObject*>(&PyType_Type)), args.positional[0],
                      args.positional[1], names);
  }
  if (args.positional.size() != 1 || !args.keywords.empty())
    walk.graph_break(BreakReason::class_definition, "type() with these arguments");
  return walk.type_value(args.positional[0]);
}

ValuePtr call_bool(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 0, 1);
  if (args.positional.empty()) return walk.boolean(false);
  if (ValuePtr truth = walk.computed(Computation::Truth, {args.positional[0]})) return truth;
  std::optional<bool> truth = truth_by_methods(walk, args.positional[0]);
  if (!truth && walk.is_tensor(args.positional[0])) walk.graph_break(BreakReason::tensor_to_number, "bool()");
  if (!truth) walk.graph_break(BreakReason::unknown_truth, describe(args.positional[0]));
  return walk.boolean(*truth);
}

template <bool is_list>
ValuePtr call_sequence(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 0, 1);
  std::vector<ValuePtr> items;
  if (!args.positional.empty()) {
    // tuple(t) of an exact tuple is that tuple.
    if (!is_list && walk.is_exactly(args.positional[0], &PyTuple_Type)) return args.positional[0];
    LengthHint hint = is_list ? LengthHint::Asked : kTupleHint;
    items = iterated(walk, is_list ? "list" : "tuple", args.positional[0], hint);
  }
  return make_value<SequenceValue>(is_list, std::move(items));
}

Handle<DictValue> made_dict(Walk& walk, const CallArgs& args) {
  auto dict = make_value<DictValue>();
  if (args.positional.size() > 1) walk.raise_here();
  if (!args.positional.empty()) {
    const ValuePtr& value = args.positional[0];
    if (auto entries = walk.entries_of(value)) {
      for (DictValue::Entry& entry : *entries) dict->set(entry.key.get(), entry.value);
    } else {
      for (const ValuePtr& pair : iterated(walk, "dict", value)) {
        auto items = walk.iterate(pair);
        if (!items || items->size() != 2) walk.graph_break(BreakReason::unknown_container, describe(pair));
        Ref key = walk.key_of((*items)[0]);
        dict->set(key.get(), (*items)[1]);
      }
    }
  }
  for (const auto& [name, value] : args.keywords) dict->set(name.get(), value);
  return dict;
}

ValuePtr call_dict(Walk& walk, const CallArgs& args) { return made_dict(walk, args); }

ValuePtr call_ordered_dict(Walk& walk, const CallArgs& args) {
  if (!args.positional.empty()) walk.require_own_items(args.positional[0]);
  Handle<DictValue> dict = made_dict(walk, args);
  dict->type = walk.constant(reinterpret_cast<PyObject*>(&PyODict_Type));
  return dict;
}

// defaultdict(factory, ...)
ValuePtr call_default_dict(Walk& walk, const CallArgs& args) {
  static PyObject* const type = imported("collections", "defaultdict").release();
  CallArgs rest = args;
  ValuePtr factory = walk.none();
  if (!args.positional.empty()) {
    factory = args.positional[0];
    rest.positional.erase(rest.positional.begin());
    bool known = walk.same_object(factory, walk.none()) || walk.exact_type(factory)->tp_call != nullptr;
    if (!known) walk.raise_here();
  }
  Handle<DictValue> dict = made_dict(walk, rest);
  dict->type = walk.constant(type);
  dict->factory = factory;
  return dict;
}

ValuePtr call_set(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 0, 1);
  auto set = make_value<SetValue>();
  set->creation_step = walk.step_number();
  if (args.positional.empty()) return set;
  if (Ref contents = walk.set_to_merge(args.positional[0])) {
    set->set = check(PySet_New(contents));
    return set;
  }
  for (const ValuePtr& item : iterated(walk, "set", args.positional[0], LengthHint::NotAsked)) {
    set->add(walk.key_of(item).get());
  }
  return set;
}

ValuePtr call_iter(Walk& walk, const CallArgs& args) {
  if (args.positional.size() == 2 && args.keywords.empty() && walk.exact_type(args.positional[0])->tp_call == nullptr)
    walk.raise_here();
  if (args.positional.size() == 2 && args.keywords.empty())
    return walk.call_now(find_polyfill(reinterpret_cast<PyObject*>(&PyCallIter_Type)), args);
  walk.require_count(args, 1, 1);
  ValuePtr iterator = walk.any_iterator_over(args.positional[0]);
  if (!iterator) walk.graph_break(BreakReason::unknown_iteration, describe(args.positional[0]));
  auto* made = as<IteratorValue>(iterator);
  return made->iterator_kind == IteratorKind::User ? made->bases[0] : iterator;
}

// The __next__ of a user's class.
ValuePtr call_user_next(Walk& walk, const CallArgs& args) {
  static PyObject* const kNext = PyUnicode_InternFromString("__next__");
  const ValuePtr& value = args.positional[0];
  ValuePtr method = walk.user_method(value, kNext);
  if (!method) walk.graph_break(BreakReason::foreign_next, describe(value));
  if (args.positional.size() == 2)
    return walk.call_catching(method, {{value}, {}}, PyExc_StopIteration).value_or(args.positional[1]);
  walk.inline_function(method, {{value}, {}}, ContinuationKind::Push, nullptr);
  return nullptr;
}

ValuePtr call_next(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 1, 2);
  auto* iterator = as<IteratorValue>(args.positional[0]);
  if (iterator == nullptr) return call_user_next(walk, args);
  if (std::optional<ValuePtr> next = walk.next_of(iterator)) return *next;
  if (args.positional.size() == 2) return args.positional[1];
  bool has_value = iterator->returned && !walk.same_object(iterator->returned, walk.none());
  walk.raise_known(PyExc_StopIteration,
                   has_value ? std::vector<ValuePtr>{iterator->returned} : std::vector<ValuePtr>{});
}

// __next__ of an iterator of a built-in type.
ValuePtr call_method_next(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 1, 1);
  if (args.positional[0]->kind != ValueKind::Iterator)
    walk.graph_break(BreakReason::foreign_next, describe(args.positional[0]));
  return call_next(walk, args);
}

ValuePtr call_enumerate(Walk& walk, const CallArgs& args) {
  int64_t start = 0;
  const ValuePtr* start_value = args.positional.size() > 1 ? &args.positional[1] : args.keyword("start");
  if (args.positional.empty() || args.positional.size() > 2 ||
      args.keywords.size() > (args.positional.size() > 1 ? 0u : 1u))
    walk.raise_here();
  if (start_value != nullptr) {
    std::optional<int64_t> known = walk.int_of(*start_value);
    if (!known) break_on_builtin(walk, "enumerate", *start_value);
    start = *known;
  }
  ValuePtr inner = walk.any_iterator_over(args.positional[0]);
  if (!inner) break_on_builtin(walk, "enumerate", args.positional[0]);
  auto iterator = make_value<IteratorValue>(IteratorKind::Enumerate, std::vector<ValuePtr>{inner});
  iterator->index = start;
  return iterator;
}

ValuePtr call_zip(Walk& walk, const CallArgs& args) {
  bool strict = false;
  if (const ValuePtr* value = args.keyword("strict"); value != nullptr && args.keywords.size() == 1) {
    std::optional<bool> truth = walk.truth_of(*value);
    if (!truth) break_on_builtin(walk, "zip", *value);
    strict = *truth;
  } else if (!args.keywords.empty()) {
    walk.raise_here();
  }
  std::vector<ValuePtr> bases;
  for (const ValuePtr& value : args.positional) {
    ValuePtr inner = walk.any_iterator_over(value);
    if (!inner) break_on_builtin(walk, "zip", value);
    bases.push_back(std::move(inner));
  }
  auto iterator = make_value<IteratorValue>(IteratorKind::Zip, std::move(bases));
  iterator->strict = strict;
  return iterator;
}

template <IteratorKind kind>
ValuePtr call_map_filter(Walk& walk, const CallArgs& args) {
  bool is_map = kind == IteratorKind::Map;
  if (args.positional.size() < 2 || (!is_map && args.positional.size() > 2) || !args.keywords.empty())
    walk.raise_here();
  std::vector<ValuePtr> bases{args.positional[0]};
  for (size_t i = 1; i < args.positional.size(); ++i) {
    ValuePtr inner = walk.any_iterator_over(args.positional[i]);
    if (!inner) break_on_builtin(walk, is_map ? "map" : "filter", args.positional[i]);
    bases.push_back(std::move(inner));
  }
  return make_value<IteratorValue>(kind, std::move(bases));
}

ValuePtr reversed_over(Walk& walk, const ValuePtr& sequence, int64_t length) {
  auto iterator = make_value<IteratorValue>(IteratorKind::Reversed, std::vector<ValuePtr>{sequence});
  iterator->start = length - 1;
  iterator->creation_step = walk.step_number();
  return iterator;
}

ValuePtr call_reversed(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 1, 1);
  ValuePtr value = args.positional[0];
  bool is_plain =
      type_of(value) == &PyList_Type ||
      (walk.is_plain_tuple(value) && walk.inherits(value, &PyTuple_Type, {"__reversed__", "__len__", "__getitem__"}));
  if (auto elements = is_plain ? walk.elements_of(value) : nullptr)
    return reversed_over(walk, value, static_cast<int64_t>(elements->size()));
  if (type_of(value) == &PyRange_Type) {
    // An iterator over the range that runs backwards.
    static PyObject* const backwards = check(PySlice_New(nullptr, nullptr, check(PyLong_FromLong(-1)))).release();
    Ref range = walk.constant_of(value);
    ValuePtr iterator = range ? walk.iterator_over(walk.constant(check(PyObject_GetItem(range, backwards)))) : nullptr;
    if (!iterator) break_on_builtin(walk, "reversed", value);
    return iterator;
  }
  Ref text = type_of(value) == &PyUnicode_Type ? walk.constant_of(value) : Ref();
  if (!text) break_on_builtin(walk, "reversed", value);
  auto items = iterated(walk, "reversed", value);
  auto length = static_cast<int64_t>(items.size());
  return reversed_over(walk, make_value<SequenceValue>(false, std::move(items)), length);
}

// What sum() adds without calling `+` once it has begun to.
bool is_number(const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  return type == &PyFloat_Type || type == &PyComplex_Type ||
         (type != nullptr && PyType_FastSubclass(type, Py_TPFLAGS_LONG_SUBCLASS));
}

// Whether adding them one by one, unknown as they are, gives the same.
bool is_sum_plain(const ValuePtr& start, const std::vector<ValuePtr>& items) {
  auto is_int = [](const ValuePtr& value) { return type_of(value) == &PyLong_Type || type_of(value) == &PyBool_Type; };
  auto is_inexact = [](const ValuePtr& value) { return type_of(value) == &PyFloat_Type; };
  auto is_known_kind = [&](const ValuePtr& value) { return is_int(value) || is_inexact(value); };
  auto inexact = std::ranges::count_if(items, is_inexact) + (is_inexact(start) ? 1 : 0);
  return is_known_kind(start) && std::ranges::all_of(items, is_known_kind) &&
         (inexact == 0 || (inexact == 1 && items.size() == 1));
}

// What sum() itself makes of numbers; null: they are not known.
ValuePtr sum_of_numbers(Walk& walk, BorrowedRef function, const ValuePtr& start, const std::vector<ValuePtr>& items) {
  Ref list = check(PyList_New(0));
  for (const ValuePtr& item : items) {
    Ref number = walk.constant_of(item);
    if (!number) return nullptr;
    check_status(PyList_Append(list, number));
  }
  Ref first = walk.constant_of(start);
  Ref total = first ? Ref::steal(PyObject_CallFunctionObjArgs(function, list.get(), first.get(), nullptr)) : Ref();
  if (first && !total) walk.raise_set();
  return total ? walk.constant(total) : nullptr;
}

ValuePtr call_sum(Walk& walk, const CallArgs& args) {
  static PyObject* const function = imported("builtins", "sum").release();
  if (args.positional.empty() || args.positional.size() > 2) walk.raise_here();
  const ValuePtr* start = args.positional.size() > 1 ? &args.positional[1] : args.keyword("start");
  if (args.keywords.size() > (start != nullptr && args.positional.size() == 1 ? 1u : 0u)) walk.raise_here();
  ValuePtr first = start != nullptr ? *start : walk.integer(0);
  // Texts are to be joined instead.
  for (PyTypeObject* refused : {&PyUnicode_Type, &PyBytes_Type, &PyByteArray_Type})
    if (PyTypeObject* type = type_of(first); type != nullptr && PyType_IsSubtype(type, refused) != 0) walk.raise_here();
  std::vector<ValuePtr> items = iterated(walk, "sum", args.positional[0], LengthHint::NotAsked);
  // Numbers at the start are added by other rules than `+`: with what their rounding lost, since 3.12, and without methods.
  auto others = is_number(first) ? std::ranges::find_if_not(items, is_number) : items.begin();
  std::vector<ValuePtr> numbers(items.begin(), others);
  if (!numbers.empty()) {
    ValuePtr total = sum_of_numbers(walk, function, first, numbers);
    bool is_plain = others != items.end() && is_sum_plain(first, numbers);
    if (!total && !is_plain) break_on_builtin(walk, "sum", args.positional[0]);
    if (total) {
      first = total;
      items.erase(items.begin(), others);
    }
  }
  if (items.empty() && is_number(first)) return first;
  ValuePtr all = make_value<SequenceValue>(false, std::move(items));
  return walk.call_now(find_polyfill(function), {{all, first}, {}});
}

template <bool stop_at>
ValuePtr call_any_all(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 1, 1);
  ValuePtr iterator = walk.any_iterator_over(args.positional[0]);
  if (!iterator) break_on_builtin(walk, stop_at ? "any" : "all", args.positional[0]);
  while (std::optional<ValuePtr> item = walk.next_of(as<IteratorValue>(iterator))) {
    std::optional<bool> truth = truth_by_methods(walk, *item);
    if (!truth) walk.graph_break(BreakReason::unknown_truth, describe(*item));
    if (*truth == stop_at) return walk.boolean(stop_at);
  }
  return walk.boolean(!stop_at);
}

ValuePtr call_getattr(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 2, 3);
  Ref name = walk.constant_of(args.positional[1]);
  if (!name || !PyUnicode_CheckExact(name.get())) break_on_builtin(walk, "getattr", args.positional[0]);
  if (args.positional.size() == 3) {
    ValuePtr found = walk.optional_attribute(args.positional[0], name.get());
    return found ? found : args.positional[2];
  }
  size_t depth = walk.frame_depth();
  ValuePtr value = walk.attribute(args.positional[0], name.get());
  // A getter that was inlined pushes its own result.
  return walk.frame_depth() > depth ? nullptr : value;
}

ValuePtr call_hasattr(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 2, 2);
  Ref name = walk.constant_of(args.positional[1]);
  if (!name || !PyUnicode_CheckExact(name.get())) break_on_builtin(walk, "hasattr", args.positional[0]);
  return walk.boolean(static_cast<bool>(walk.optional_attribute(args.positional[0], name.get())));
}

ValuePtr call_callable(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 1, 1);
  PyTypeObject* type = walk.exact_type(args.positional[0]);
  return walk.boolean(type->tp_call != nullptr);
}

ValuePtr call_abs(Walk& walk, const CallArgs& args) {
  static PyObject* const kAbs = PyUnicode_InternFromString("__abs__");
  static PyObject* const kFunction = imported("builtins", "abs").release();
  static const OpRow* const op = find_op("abs");
  walk.require_count(args, 1, 1);
  const ValuePtr& value = args.positional[0];
  if (walk.is_tensor(value)) return walk.call_op(*op, args, CallForm::Function);
  if (ValuePtr method = walk.user_method(value, kAbs)) {
    walk.inline_function(method, {{value}, {}}, ContinuationKind::Push, nullptr);
    return nullptr;
  }
  ValuePtr result = fold_pure_call(walk, kFunction, args);
  if (!result) break_on_builtin(walk, "abs", value);
  return result;
}

ValuePtr call_pow(Walk& walk, const CallArgs& args) {
  static PyObject* const kFunction = imported("builtins", "pow").release();
  static const OpRow* const op = find_op("pow");
  bool of_tensors = args.positional.size() == 2 && args.keywords.empty() &&
                    (walk.is_tensor(args.positional[0]) || walk.is_tensor(args.positional[1]));
  if (of_tensors) return walk.call_op(*op, args, CallForm::Operator);
  ValuePtr result = fold_pure_call(walk, kFunction, args);
  if (!result) break_on_builtin(walk, "pow", args.positional.empty() ? walk.none() : args.positional[0]);
  return result;
}

template <BreakReason reason>
ValuePtr break_always(Walk& walk, const CallArgs&) {
  walk.graph_break(reason);
}

struct BuiltinRow {
  const char* name;
  CallHandler handler;
};
ValuePtr call_recursion_limit(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 0, 0);
  walk.guards().recursion_limit();
  return walk.integer(Py_GetRecursionLimit());
}

constexpr BuiltinRow kBuiltins[] = {{"len", call_len},
                                    {"isinstance", call_isinstance},
                                    {"type", call_type},
                                    {"issubclass", call_issubclass},
                                    {"hash", call_hash},
                                    {"bool", call_bool},
                                    {"list", call_sequence<true>},
                                    {"tuple", call_sequence<false>},
                                    {"dict", call_dict},
                                    {"set", call_set},
                                    {"iter", call_iter},
                                    {"next", call_next},
                                    {"enumerate", call_enumerate},
                                    {"zip", call_zip},
                                    {"reversed", call_reversed},
                                    {"sum", call_sum},
                                    {"any", call_any_all<true>},
                                    {"all", call_any_all<false>},
                                    {"map", call_map_filter<IteratorKind::Map>},
                                    {"filter", call_map_filter<IteratorKind::Filter>},
                                    {"hasattr", call_hasattr},
                                    {"getattr", call_getattr},
                                    {"callable", call_callable},
                                    {"abs", call_abs},
                                    {"pow", call_pow},
                                    {"globals", call_globals},
                                    {"eval", break_always<BreakReason::frame_inspection>},
                                    {"exec", break_always<BreakReason::frame_inspection>}};

}  // namespace

bool Walk::is_instance(const ValuePtr& value, const ValuePtr& classinfo) {
  return is_subtype_of(*this, value, class_it_shows(*this, value), classinfo);
}

void register_builtin_calls() {
  Ref builtins = check(PyImport_ImportModule("builtins"));
  register_call(imported("operator", "abs").get(), call_abs);
  register_call(imported("sys", "getrecursionlimit").get(), call_recursion_limit);
  register_call(imported("_abc", "_abc_instancecheck").get(), call_abstract_check<true>);
  register_call(imported("_abc", "_abc_subclasscheck").get(), call_abstract_check<false>);
  register_call(imported("collections", "OrderedDict").get(), call_ordered_dict);
  register_call(imported("collections", "defaultdict").get(), call_default_dict);
  // Those of iterators that the walk makes.
  Ref next_name = check(PyUnicode_InternFromString("__next__"));
  for (PyTypeObject* type : {&PyListIter_Type, &PyTupleIter_Type, &PyRangeIter_Type, &PyDictIterKey_Type,
                             &PyDictIterValue_Type, &PyDictIterItem_Type, &PySetIter_Type, &PyEnum_Type, &PyZip_Type,
                             &PyMap_Type, &PyFilter_Type, &PyGen_Type, &PyListRevIter_Type, &PyReversed_Type})
    register_call(_PyType_Lookup(type, next_name), call_method_next);
  for (const BuiltinRow& row : kBuiltins)
    register_call(check(PyObject_GetAttrString(builtins, row.name)).get(), row.handler);
}

}  // namespace md
