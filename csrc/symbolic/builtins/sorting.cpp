// sorted, list.sort, min and max: the keys must be known in the trace, the items need not be.
#include "cpython/imports.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/builtins/pure_calls.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/polyfills.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/tensors/tensor_numbers.h"
#include "symbolic/tensors/tensor_ops.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"

#include <algorithm>
#include <exception>

namespace md {

namespace {

const ValuePtr* key_function(Tracer& tracer, const CallArgs& args) {
  const ValuePtr* key = args.keyword("key");
  return key != nullptr && !same_object(tracer, *key, tracer.values().none()) ? key : nullptr;
}

// a < b or a > b; user-defined methods run in the trace.
bool compare(Tracer& tracer, const ValuePtr& a, const ValuePtr& b, int op) {
  static PyObject *const less = imported("operator", "lt").release(), *const more =
                                                                          imported("operator", "gt").release();
  // Two keys of cmp_to_key: compares the result of the function on their objects with zero.
  auto *left = as<ConstructedValue>(a), *right = as<ConstructedValue>(b);
  auto* maker = left != nullptr && right != nullptr ? as<ConstructedValue>(left->maker) : nullptr;
  if (maker != nullptr && as<ConstructedValue>(right->maker) != nullptr)
    return compare(tracer, call_now(tracer, maker->positional[0], {{left->positional[0], right->positional[0]}, {}}),
                   tracer.values().integer(0), op);
  ValuePtr result = call_now(tracer, find_polyfill(op == Py_LT ? less : more), {{a, b}, {}});
  std::optional<bool> truth = truth_of(tracer, result);
  if (!truth) graph_break(BreakReason::unknown_sort, describe(a));
  return *truth;
}

// Keys that Python's own sort compares through the trace. An exception thrown by the trace is kept until the sort has
// ended.
struct Comparisons {
  Tracer& tracer;
  std::vector<ValuePtr> keys;
  std::exception_ptr failure = nullptr;
};
struct TracedKey {
  PyObject_HEAD Comparisons* comparisons;
  size_t place;
};

PyObject* compare_traced(PyObject* left, PyObject* right, int op) {
  auto *a = reinterpret_cast<TracedKey*>(left), *b = reinterpret_cast<TracedKey*>(right);
  Comparisons& comparisons = *a->comparisons;
  try {
    if (op != Py_LT) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong(compare(comparisons.tracer, comparisons.keys[a->place], comparisons.keys[b->place], op));
  } catch (...) {
    comparisons.failure = std::current_exception();
    if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_RuntimeError);
    return nullptr;
  }
}

PyTypeObject* traced_key_type() {
  static PyTypeObject* const type = [] {
    PyType_Slot slots[] = {{Py_tp_richcompare, reinterpret_cast<void*>(compare_traced)}, {0, nullptr}};
    PyType_Spec spec = {"minidynamo.WalkedKey", sizeof(TracedKey), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)).release());
  }();
  return type;
}

Ref traced_key(Comparisons& comparisons, size_t place) {
  Ref key = check(PyType_GenericAlloc(traced_key_type(), 0));
  auto* object = reinterpret_cast<TracedKey*>(key.get());
  object->comparisons = &comparisons;
  object->place = place;
  return key;
}

// The sort keys of the items: constants of built-in types, or `traced` keys if any is not.
std::vector<Ref> keys_of(Tracer& tracer, const std::vector<ValuePtr>& items, const ValuePtr* function,
                         Comparisons& comparisons) {
  for (const ValuePtr& item : items)
    comparisons.keys.push_back(function != nullptr ? call_now(tracer, *function, {{item}, {}}) : item);
  std::vector<Ref> keys;
  for (const ValuePtr& key : comparisons.keys) {
    if (is_tensor(key)) graph_break(BreakReason::unknown_sort, describe(key));
    keys.push_back(constant_of(tracer, key));
    if (!keys.back()) break;
  }
  if (keys.empty() || keys.back()) return keys;
  keys.clear();
  for (size_t i = 0; i < comparisons.keys.size(); ++i) keys.push_back(traced_key(comparisons, i));
  return keys;
}

// The items in the order in which Python's own sort puts their keys.
std::vector<ValuePtr> in_order(const std::vector<ValuePtr>& items, const std::vector<Ref>& keys, bool reverse,
                               Comparisons& comparisons) {
  Ref list = check(PyList_New(0));
  Ref places = check(PyList_New(0));
  for (size_t i = 0; i < keys.size(); ++i) {
    check_status(PyList_Append(list, keys[i]));
    check_status(PyList_Append(places, check(PyLong_FromSize_t(i))));
  }
  Ref sort = check(PyObject_GetAttrString(places, "sort"));
  Ref none = check(PyTuple_New(0));
  Ref options =
      check(Py_BuildValue("{s:N,s:i}", "key", PyObject_GetAttrString(list, "__getitem__"), "reverse", reverse ? 1 : 0));
  Ref sorted = Ref::steal(PyObject_Call(sort, none, options));
  if (comparisons.failure) {
    PyErr_Clear();
    std::rethrow_exception(comparisons.failure);
  }
  if (!sorted) raise_here();
  std::vector<ValuePtr> result;
  for (size_t i = 0; i < keys.size(); ++i)
    result.push_back(items[PyLong_AsSize_t(PyList_GET_ITEM(places.get(), static_cast<Py_ssize_t>(i)))]);
  return result;
}

bool reverse_of(Tracer& tracer, const CallArgs& args) {
  const ValuePtr* reverse = args.keyword("reverse");
  std::optional<bool> truth = reverse != nullptr ? truth_of(tracer, *reverse) : false;
  if (!truth) graph_break(BreakReason::unknown_truth, describe(*reverse));
  return *truth;
}

void require_options(const CallArgs& args, std::initializer_list<const char*> names) {
  if (args.positional.empty()) raise_here();
  for (const auto& [name, value] : args.keywords) {
    bool known = false;
    for (const char* option : names) known = known || PyUnicode_CompareWithASCIIString(name, option) == 0;
    if (!known) raise_here();
  }
}

// The elements of a set whose order is not known, if they have only one order when sorted: ints alone, or texts. Null:
// of other objects.
std::unique_ptr<std::vector<ValuePtr>> distinct_elements(Tracer& tracer, const ValuePtr& value) {
  if (type_of(value) != &PySet_Type && type_of(value) != &PyFrozenSet_Type) return nullptr;
  Ref set = set_contents(tracer, value);
  if (!set) return nullptr;
  Ref order = check(PySequence_Tuple(set));
  auto items = std::make_unique<std::vector<ValuePtr>>();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order.get()); ++i) {
    BorrowedRef item = PyTuple_GET_ITEM(order.get(), i);
    bool is_plain = PyLong_CheckExact(item.get()) || PyUnicode_CheckExact(item.get());
    if (!is_plain || item.type() != Py_TYPE(PyTuple_GET_ITEM(order.get(), 0))) return nullptr;
    items->push_back(value_of_key(tracer, item));
  }
  return items;
}

ValuePtr call_sorted(Tracer& tracer, const CallArgs& args) {
  require_options(args, {"key", "reverse"});
  if (args.positional.size() != 1) raise_here();
  bool reverse = reverse_of(tracer, args);
  auto items = key_function(tracer, args) == nullptr ? distinct_elements(tracer, args.positional[0]) : nullptr;
  if (!items) items = iterate(tracer, args.positional[0], LengthHint::Asked);
  if (!items) graph_break(BreakReason::builtin_call, "sorted(" + describe(args.positional[0]) + ")");
  Comparisons comparisons{tracer, {}};
  std::vector<Ref> keys = keys_of(tracer, *items, key_function(tracer, args), comparisons);
  return make_value<SequenceValue>(true, in_order(*items, keys, reverse, comparisons));
}

ValuePtr call_list_sort(Tracer& tracer, const CallArgs& args) {
  require_options(args, {"key", "reverse"});
  if (args.positional.size() != 1) raise_here();
  bool reverse = reverse_of(tracer, args);
  SequenceValue* list = list_contents(tracer, args.positional[0]);
  if (list == nullptr) graph_break(BreakReason::unknown_sort, describe(args.positional[0]));
  // The list is empty while its keys are computed. A break in between ends the region before the call.
  std::vector<ValuePtr> items = std::exchange(list->items, {});
  std::vector<Ref> keys;
  Comparisons comparisons{tracer, {}};
  try {
    keys = keys_of(tracer, items, key_function(tracer, args), comparisons);
    if (!list->items.empty()) raise_here();
  } catch (...) {
    list->items = std::move(items);
    throw;
  }
  std::vector<ValuePtr> sorted;
  try {
    sorted = in_order(items, keys, reverse, comparisons);
    if (!list->items.empty()) raise_here();
  } catch (const RaiseSignal&) {
    // The list shows the partial result of a failed sort: left to the interpreter.
    list->items = std::move(items);
    raise_here();
  } catch (...) {
    list->items = std::move(items);
    throw;
  }
  int64_t length = static_cast<int64_t>(items.size());
  list->items = std::move(items);
  list_splice(tracer, args.positional[0], 0, length, std::move(sorted));
  return tracer.values().none();
}

// Of a few scalars of a library that have one dtype, as the library compares them: the first of the largest. Null: of
// others.
constexpr size_t kMostScalars = 16;
ValuePtr extreme_of_scalars(Tracer& tracer, int op, const std::vector<ValuePtr>& items) {
  static const OpRow* const where = find_op("where");
  auto* first = as<TensorValue>(items[0]);
  if (first == nullptr || items.size() > kMostScalars || !holds_scalars(*first->family)) return nullptr;
  bool are_alike = std::ranges::all_of(items, [&](const ValuePtr& item) {
    auto* scalar = as<TensorValue>(item);
    return scalar != nullptr && scalar->family == first->family && scalar->spec.dtype == first->spec.dtype;
  });
  const OpRow* compare = first->family->compare_operator(op);
  if (!are_alike || compare == nullptr) return nullptr;
  ValuePtr best = items[0];
  for (size_t i = 1; i < items.size(); ++i) {
    ValuePtr is_better = call_op(tracer, *compare, {{items[i], best}, {}}, CallForm::Operator);
    best = call_op(tracer, *where, {{is_better, items[i], best}, {}}, CallForm::Function);
  }
  return best;
}

template <int op>
ValuePtr call_extreme(Tracer& tracer, const CallArgs& args) {
  static PyObject* const function = imported("builtins", op == Py_GT ? "max" : "min").release();
  require_options(args, {"key", "default"});
  const ValuePtr* fallback = args.keyword("default");
  bool several = args.positional.size() > 1;
  if (several && fallback != nullptr) raise_here();
  auto items = several ? std::make_unique<std::vector<ValuePtr>>(args.positional)
                       : iterate(tracer, args.positional[0], LengthHint::NotAsked);
  if (!items) {
    ValuePtr folded = args.keywords.empty() ? fold_pure_call(tracer, function, args) : nullptr;
    if (!folded) graph_break(BreakReason::builtin_call, "min or max of a " + describe(args.positional[0]));
    return folded;
  }
  if (items->empty() && fallback == nullptr) raise_here();
  if (items->empty()) return *fallback;
  if (items->size() > 1 && args.keyword("key") == nullptr)
    if (ValuePtr best = extreme_of_scalars(tracer, op, *items)) return best;
  if (items->size() > 1 && args.keywords.empty()) {
    auto is_of_data = [&](const ValuePtr& item) { return as<NumberValue>(item) || tracer.shapes().is_unbacked(item); };
    if (std::ranges::any_of(*items, is_of_data)) return extreme_in_graph(tracer, op == Py_GT, *items);
    ScalarOp choice = op == Py_GT ? ScalarOp::Largest : ScalarOp::Least;
    if (ValuePtr chosen = computed(tracer, choice, *items)) return chosen;
  }
  Comparisons comparisons{tracer, {}};
  std::vector<Ref> keys = keys_of(tracer, *items, key_function(tracer, args), comparisons);
  size_t best = 0;
  for (size_t i = 1; i < keys.size(); ++i) {
    bool is_traced = Py_IS_TYPE(keys[i].get(), traced_key_type());
    int better = is_traced ? compare(tracer, comparisons.keys[i], comparisons.keys[best], op)
                           : PyObject_RichCompareBool(keys[i], keys[best], op);
    if (better < 0) raise_here();
    if (better == 1) best = i;
  }
  return (*items)[best];
}

void add_sorting_calls() {
  register_call(imported("builtins", "sorted").get(), call_sorted);
  register_call(imported("builtins", "max").get(), call_extreme<Py_GT>);
  register_call(imported("builtins", "min").get(), call_extreme<Py_LT>);
  register_call(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyList_Type), "sort")).get(), call_list_sort);
}

const CallRegistration call_registration(add_sorting_calls);

}  // namespace

}  // namespace md
