// Builtins that create, advance or exhaust iterators.
#include <algorithm>

#include "cpython/imports.h"
#include "frontends/size_object.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/builtin_calls.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/polyfills.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

ValuePtr call_iter(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() == 2 && args.keywords.empty() && !is_callable(tracer, args.positional[0])) raise_here();
  if (args.positional.size() == 2 && args.keywords.empty())
    return call_now(tracer, find_polyfill(reinterpret_cast<PyObject*>(&PyCallIter_Type)), args);
  require_count(args, 1, 1);
  ValuePtr iterator = any_iterator_over(tracer, args.positional[0]);
  if (!iterator) graph_break(BreakReason::unknown_iteration, describe(args.positional[0]));
  auto* made = as<IteratorValue>(iterator);
  return made->iterator_kind == IteratorKind::User ? made->bases[0] : iterator;
}

// The __next__ of a user's class.
ValuePtr call_user_next(Tracer& tracer, const CallArgs& args) {
  static PyObject* const kNext = PyUnicode_InternFromString("__next__");
  const ValuePtr& value = args.positional[0];
  ValuePtr method = user_method(tracer, value, kNext);
  if (!method) graph_break(BreakReason::foreign_next, describe(value));
  if (args.positional.size() == 2)
    return call_catching(tracer, method, {{value}, {}}, PyExc_StopIteration).value_or(args.positional[1]);
  inline_function(tracer, method, {{value}, {}}, ContinuationKind::Push, nullptr);
  return nullptr;
}

ValuePtr call_next(Tracer& tracer, const CallArgs& args) {
  require_count(args, 1, 2);
  auto* iterator = as<IteratorValue>(args.positional[0]);
  if (iterator == nullptr) return call_user_next(tracer, args);
  if (std::optional<ValuePtr> next = next_of(tracer, iterator)) return *next;
  if (args.positional.size() == 2) return args.positional[1];
  bool has_value = iterator->returned && !same_object(tracer, iterator->returned, tracer.values().none());
  raise_known(tracer, PyExc_StopIteration,
              has_value ? std::vector<ValuePtr>{iterator->returned} : std::vector<ValuePtr>{});
}

// __next__ of an iterator of a built-in type.
ValuePtr call_method_next(Tracer& tracer, const CallArgs& args) {
  require_count(args, 1, 1);
  if (args.positional[0]->kind != ValueKind::Iterator)
    graph_break(BreakReason::foreign_next, describe(args.positional[0]));
  return call_next(tracer, args);
}

ValuePtr call_enumerate(Tracer& tracer, const CallArgs& args) {
  int64_t start = 0;
  const ValuePtr* start_value = args.positional.size() > 1 ? &args.positional[1] : args.keyword("start");
  if (args.positional.empty() || args.positional.size() > 2 ||
      args.keywords.size() > (args.positional.size() > 1 ? 0u : 1u))
    raise_here();
  if (start_value != nullptr) {
    std::optional<int64_t> known = int_of(tracer, *start_value);
    if (!known) break_on_builtin("enumerate", *start_value);
    start = *known;
  }
  ValuePtr inner = any_iterator_over(tracer, args.positional[0]);
  if (!inner) break_on_builtin("enumerate", args.positional[0]);
  auto iterator = make_value<IteratorValue>(IteratorKind::Enumerate, std::vector<ValuePtr>{inner});
  iterator->index = start;
  return iterator;
}

ValuePtr call_zip(Tracer& tracer, const CallArgs& args) {
  bool strict = false;
  if (const ValuePtr* value = args.keyword("strict"); value != nullptr && args.keywords.size() == 1) {
    std::optional<bool> truth = truth_of(tracer, *value);
    if (!truth) break_on_builtin("zip", *value);
    strict = *truth;
  } else if (!args.keywords.empty()) {
    raise_here();
  }
  std::vector<ValuePtr> bases;
  for (const ValuePtr& value : args.positional) {
    ValuePtr inner = any_iterator_over(tracer, value);
    if (!inner) break_on_builtin("zip", value);
    bases.push_back(std::move(inner));
  }
  auto iterator = make_value<IteratorValue>(IteratorKind::Zip, std::move(bases));
  iterator->strict = strict;
  return iterator;
}

template <IteratorKind kind>
ValuePtr call_map_filter(Tracer& tracer, const CallArgs& args) {
  bool is_map = kind == IteratorKind::Map;
  if (args.positional.size() < 2 || (!is_map && args.positional.size() > 2) || !args.keywords.empty()) raise_here();
  std::vector<ValuePtr> bases{args.positional[0]};
  for (size_t i = 1; i < args.positional.size(); ++i) {
    ValuePtr inner = any_iterator_over(tracer, args.positional[i]);
    if (!inner) break_on_builtin(is_map ? "map" : "filter", args.positional[i]);
    bases.push_back(std::move(inner));
  }
  return make_value<IteratorValue>(kind, std::move(bases));
}

ValuePtr reversed_over(Tracer& tracer, const ValuePtr& sequence, int64_t length) {
  auto iterator = make_value<IteratorValue>(IteratorKind::Reversed, std::vector<ValuePtr>{sequence});
  iterator->start = length - 1;
  iterator->creation_step = tracer.step_number();
  return iterator;
}

// A dict, or a view of one, from its last entry to its first. Null: another value.
ValuePtr reversed_over_dict(Tracer& tracer, const ValuePtr& value) {
  auto* view = as<DictViewValue>(value);
  auto* object = as<ObjectValue>(value);
  bool is_kind = view != nullptr || value->kind == ValueKind::Dict || value->kind == ValueKind::InstanceDict ||
                 (object != nullptr && PyDict_Check(object->object.get()));
  if (!is_kind || !is_dict(tracer, view != nullptr ? view->dict : value, {"__reversed__"})) return nullptr;
  ValuePtr iterator = iterator_over(tracer, value);
  if (iterator) as<IteratorValue>(iterator)->step = -1;
  return iterator;
}

// By the __reversed__ of a user's class, or else by its __len__ and __getitem__. Null: another value.
ValuePtr reversed_by_methods(Tracer& tracer, const ValuePtr& value) {
  static PyObject* const kReversed = PyUnicode_InternFromString("__reversed__");
  static PyObject* const kLen = PyUnicode_InternFromString("__len__");
  static PyObject* const kGetitem = PyUnicode_InternFromString("__getitem__");
  static PyObject* const function = imported("builtins", "reversed").release();
  if (!is_user_object(value) || PyType_IsSubtype(type_of(value), &PyDict_Type) != 0) return nullptr;
  if (type_attribute(tracer, value, kReversed)) {
    ValuePtr method = user_method(tracer, value, kReversed);
    return method ? call_now(tracer, method, {{value}, {}}) : nullptr;
  }
  ValuePtr method = user_method(tracer, value, kLen);
  if (!method || !user_method(tracer, value, kGetitem)) return nullptr;
  std::optional<int64_t> length = int_of(tracer, call_now(tracer, method, {{value}, {}}));
  if (!length || *length < 0) raise_here();
  ValuePtr made = call_now(tracer, find_polyfill(function), {{value, tracer.values().integer(*length - 1)}, {}});
  as<IteratorValue>(made)->type = &PyReversed_Type;
  return made;
}

ValuePtr call_reversed(Tracer& tracer, const CallArgs& args) {
  require_count(args, 1, 1);
  ValuePtr value = args.positional[0];
  if (ValuePtr iterator = reversed_over_dict(tracer, value)) return iterator;
  if (ValuePtr made = reversed_by_methods(tracer, value)) return made;
  bool is_plain = type_of(value) == &PyList_Type || family_of_sizes(type_of(value)) != nullptr ||
                  (is_plain_tuple(tracer, value) &&
                   inherits(tracer, value, &PyTuple_Type, {"__reversed__", "__len__", "__getitem__"}));
  if (auto elements = is_plain ? elements_of(tracer, value) : nullptr)
    return reversed_over(tracer, value, static_cast<int64_t>(elements->size()));
  if (type_of(value) == &PyRange_Type) {
    // Iterates over the reversed range.
    static PyObject* const backwards = check(PySlice_New(nullptr, nullptr, check(PyLong_FromLong(-1)))).release();
    Ref range = constant_of(tracer, value);
    ValuePtr iterator =
        range ? iterator_over(tracer, tracer.values().constant(check(PyObject_GetItem(range, backwards)))) : nullptr;
    if (!iterator) break_on_builtin("reversed", value);
    return iterator;
  }
  Ref text = type_of(value) == &PyUnicode_Type ? constant_of(tracer, value) : Ref();
  if (!text) break_on_builtin("reversed", value);
  auto items = iterated(tracer, "reversed", value);
  auto length = static_cast<int64_t>(items.size());
  return reversed_over(tracer, make_value<SequenceValue>(false, std::move(items)), length);
}

// Types that sum() adds in C, without calling `+`.
bool is_number(const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  return type == &PyFloat_Type || type == &PyComplex_Type ||
         (type != nullptr && PyType_FastSubclass(type, Py_TPFLAGS_LONG_SUBCLASS));
}

// Returns true if adding the numbers one by one, with unknown values, has the same result.
bool is_sum_plain(const ValuePtr& start, const std::vector<ValuePtr>& items) {
  auto is_int = [](const ValuePtr& value) { return type_of(value) == &PyLong_Type || type_of(value) == &PyBool_Type; };
  auto is_inexact = [](const ValuePtr& value) { return type_of(value) == &PyFloat_Type; };
  auto is_known_kind = [&](const ValuePtr& value) { return is_int(value) || is_inexact(value); };
  auto inexact = std::ranges::count_if(items, is_inexact) + (is_inexact(start) ? 1 : 0);
  return is_known_kind(start) && std::ranges::all_of(items, is_known_kind) &&
         (inexact == 0 || (inexact == 1 && items.size() == 1));
}

// The result of sum() itself on numbers; null if they are unknown.
ValuePtr sum_of_numbers(Tracer& tracer, BorrowedRef function, const ValuePtr& start,
                        const std::vector<ValuePtr>& items) {
  Ref list = check(PyList_New(0));
  for (const ValuePtr& item : items) {
    Ref number = constant_of(tracer, item);
    if (!number) return nullptr;
    check_status(PyList_Append(list, number));
  }
  Ref first = constant_of(tracer, start);
  Ref total = first ? Ref::steal(PyObject_CallFunctionObjArgs(function, list.get(), first.get(), nullptr)) : Ref();
  if (first && !total) raise_current(tracer);
  return total ? tracer.values().constant(total) : nullptr;
}

ValuePtr call_sum(Tracer& tracer, const CallArgs& args) {
  static PyObject* const function = imported("builtins", "sum").release();
  if (args.positional.empty() || args.positional.size() > 2) raise_here();
  const ValuePtr* start = args.positional.size() > 1 ? &args.positional[1] : args.keyword("start");
  if (args.keywords.size() > (start != nullptr && args.positional.size() == 1 ? 1u : 0u)) raise_here();
  ValuePtr first = start != nullptr ? *start : tracer.values().integer(0);
  // sum() refuses strings and bytes.
  for (PyTypeObject* refused : {&PyUnicode_Type, &PyBytes_Type, &PyByteArray_Type})
    if (PyTypeObject* type = type_of(first); type != nullptr && PyType_IsSubtype(type, refused) != 0) raise_here();
  std::vector<ValuePtr> items = iterated(tracer, "sum", args.positional[0], LengthHint::NotAsked);
  // Leading numbers are not added by `+`: since 3.12 with compensated summation, and without calling methods.
  auto others = is_number(first) ? std::ranges::find_if_not(items, is_number) : items.begin();
  std::vector<ValuePtr> numbers(items.begin(), others);
  // Ints that vary are added at each run, one by one.
  bool varies = is_sum_plain(first, numbers) && std::ranges::any_of(numbers, is_dynamic);
  if (!numbers.empty() && !varies) {
    ValuePtr total = sum_of_numbers(tracer, function, first, numbers);
    bool is_plain = others != items.end() && is_sum_plain(first, numbers);
    if (!total && !is_plain) break_on_builtin("sum", args.positional[0]);
    if (total) {
      first = total;
      items.erase(items.begin(), others);
    }
  }
  if (items.empty() && is_number(first)) return first;
  ValuePtr all = make_value<SequenceValue>(false, std::move(items));
  return call_now(tracer, find_polyfill(function), {{all, first}, {}});
}

template <bool stop_at>
ValuePtr call_any_all(Tracer& tracer, const CallArgs& args) {
  require_count(args, 1, 1);
  ValuePtr iterator = any_iterator_over(tracer, args.positional[0]);
  if (!iterator) break_on_builtin(stop_at ? "any" : "all", args.positional[0]);
  while (std::optional<ValuePtr> item = next_of(tracer, as<IteratorValue>(iterator))) {
    std::optional<bool> truth = truth_by_methods(tracer, *item);
    if (!truth) graph_break(BreakReason::unknown_truth, describe(*item));
    if (*truth == stop_at) return tracer.values().boolean(stop_at);
  }
  return tracer.values().boolean(!stop_at);
}

constexpr BuiltinRow kRows[] = {{"iter", call_iter},
                                {"next", call_next},
                                {"enumerate", call_enumerate},
                                {"zip", call_zip},
                                {"reversed", call_reversed},
                                {"sum", call_sum},
                                {"any", call_any_all<true>},
                                {"all", call_any_all<false>},
                                {"map", call_map_filter<IteratorKind::Map>},
                                {"filter", call_map_filter<IteratorKind::Filter>}};

void add_iteration_calls() {
  register_builtin_rows(kRows);
  // __next__ of iterators created in the trace.
  Ref next_name = check(PyUnicode_InternFromString("__next__"));
  for (PyTypeObject* type : {&PyListIter_Type, &PyTupleIter_Type, &PyRangeIter_Type, &PyDictIterKey_Type,
                             &PyDictIterValue_Type, &PyDictIterItem_Type, &PySetIter_Type, &PyEnum_Type, &PyZip_Type,
                             &PyMap_Type, &PyFilter_Type, &PyListRevIter_Type, &PyReversed_Type, &PyDictRevIterKey_Type,
                             &PyDictRevIterValue_Type, &PyDictRevIterItem_Type, &PyODictIter_Type})
    register_call(_PyType_Lookup(type, next_name), call_method_next);
}

const CallRegistration call_registration(add_iteration_calls);

}  // namespace

}  // namespace md
