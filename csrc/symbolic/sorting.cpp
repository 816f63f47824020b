// sorted, list.sort, min and max: the keys are known while walking, what is sorted need not be.
#include "cpython/imports.h"
#include "symbolic/pure_calls.h"
#include "symbolic/walk.h"

namespace md {

namespace {

const ValuePtr* key_function(Walk& walk, const CallArgs& args) {
  const ValuePtr* key = args.keyword("key");
  return key != nullptr && !walk.same_object(*key, walk.none()) ? key : nullptr;
}

// What the items are compared by, constants of built-in types.
std::vector<Ref> keys_of(Walk& walk, const std::vector<ValuePtr>& items, const ValuePtr* function) {
  std::vector<Ref> keys;
  for (const ValuePtr& item : items) {
    ValuePtr key = function != nullptr ? walk.call_now(*function, {{item}, {}}) : item;
    keys.push_back(walk.is_tensor(key) ? Ref() : walk.constant_of(key));
    if (!keys.back()) walk.graph_break(BreakReason::unknown_sort, describe(key));
  }
  return keys;
}

// The items in the order that Python's own sort gives to their keys.
std::vector<ValuePtr> in_order(Walk& walk, const std::vector<ValuePtr>& items, const std::vector<Ref>& keys,
                               bool reverse) {
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
  if (!Ref::steal(PyObject_Call(sort, none, options))) walk.raise_here();
  std::vector<ValuePtr> result;
  for (size_t i = 0; i < keys.size(); ++i)
    result.push_back(items[PyLong_AsSize_t(PyList_GET_ITEM(places.get(), static_cast<Py_ssize_t>(i)))]);
  return result;
}

bool reverse_of(Walk& walk, const CallArgs& args) {
  const ValuePtr* reverse = args.keyword("reverse");
  std::optional<bool> truth = reverse != nullptr ? walk.truth_of(*reverse) : false;
  if (!truth) walk.graph_break(BreakReason::unknown_truth, describe(*reverse));
  return *truth;
}

void require_options(Walk& walk, const CallArgs& args, std::initializer_list<const char*> names) {
  if (args.positional.empty()) walk.raise_here();
  for (const auto& [name, value] : args.keywords) {
    bool known = false;
    for (const char* option : names) known = known || PyUnicode_CompareWithASCIIString(name, option) == 0;
    if (!known) walk.raise_here();
  }
}

ValuePtr call_sorted(Walk& walk, const CallArgs& args) {
  require_options(walk, args, {"key", "reverse"});
  if (args.positional.size() != 1) walk.raise_here();
  bool reverse = reverse_of(walk, args);
  auto items = walk.iterate(args.positional[0]);
  if (!items) walk.graph_break(BreakReason::builtin_call, "sorted(" + describe(args.positional[0]) + ")");
  std::vector<Ref> keys = keys_of(walk, *items, key_function(walk, args));
  return make_value<SequenceValue>(true, in_order(walk, *items, keys, reverse));
}

ValuePtr call_list_sort(Walk& walk, const CallArgs& args) {
  require_options(walk, args, {"key", "reverse"});
  if (args.positional.size() != 1) walk.raise_here();
  bool reverse = reverse_of(walk, args);
  SequenceValue* list = walk.list_contents(args.positional[0]);
  if (list == nullptr) walk.graph_break(BreakReason::unknown_sort, describe(args.positional[0]));
  // The list is empty while its keys are made. A break in between ends the region before.
  std::vector<ValuePtr> items = std::exchange(list->items, {});
  std::vector<Ref> keys;
  try {
    keys = keys_of(walk, items, key_function(walk, args));
    if (!list->items.empty()) walk.raise_here();
  } catch (...) {
    list->items = std::move(items);
    throw;
  }
  std::vector<ValuePtr> sorted;
  try {
    sorted = in_order(walk, items, keys, reverse);
  } catch (...) {
    list->items = std::move(items);
    throw;
  }
  int64_t length = static_cast<int64_t>(items.size());
  list->items = std::move(items);
  walk.list_splice(args.positional[0], 0, length, std::move(sorted));
  return walk.none();
}

template <int op>
ValuePtr call_extreme(Walk& walk, const CallArgs& args) {
  static PyObject* const function = imported("builtins", op == Py_GT ? "max" : "min").release();
  require_options(walk, args, {"key", "default"});
  const ValuePtr* fallback = args.keyword("default");
  bool several = args.positional.size() > 1;
  if (several && fallback != nullptr) walk.raise_here();
  auto items = several ? std::make_unique<std::vector<ValuePtr>>(args.positional) : walk.iterate(args.positional[0]);
  if (!items) {
    ValuePtr folded = args.keywords.empty() ? fold_pure_call(walk, function, args) : nullptr;
    if (!folded) walk.graph_break(BreakReason::builtin_call, "min or max of a " + describe(args.positional[0]));
    return folded;
  }
  if (items->empty() && fallback == nullptr) walk.raise_here();
  if (items->empty()) return *fallback;
  if (args.keywords.empty()) {
    if (ValuePtr size = walk.smallest_or_largest(op == Py_GT, *items)) return size;
  }
  std::vector<Ref> keys = keys_of(walk, *items, key_function(walk, args));
  size_t best = 0;
  for (size_t i = 1; i < keys.size(); ++i) {
    int better = PyObject_RichCompareBool(keys[i], keys[best], op);
    if (better < 0) walk.raise_here();
    if (better == 1) best = i;
  }
  return (*items)[best];
}

}  // namespace

void register_sorting() {
  register_call(imported("builtins", "sorted").get(), call_sorted);
  register_call(imported("builtins", "max").get(), call_extreme<Py_GT>);
  register_call(imported("builtins", "min").get(), call_extreme<Py_LT>);
  register_call(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyList_Type), "sort")).get(), call_list_sort);
}

}  // namespace md
