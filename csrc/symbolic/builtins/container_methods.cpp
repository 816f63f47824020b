// Methods of list and dict, on containers created in the trace; reading methods also on pre-existing ones.
#include <algorithm>

#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/builtins/sequence_search.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/polyfills.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/identities.h"
#include "symbolic/facts/mapping_proxies.h"
#include "symbolic/facts/user_keys.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

[[noreturn]] void break_on_method(const CallArgs& args, const char* method) {
  graph_break(BreakReason::store_subscript,
              str_cat(method, " on a ", args.positional.empty() ? "?" : describe(args.positional[0])));
}

// The elements of a list that is about to be changed.
std::vector<ValuePtr>& list_of(Tracer& tracer, const CallArgs& args, const char* method) {
  SequenceValue* list = args.positional.empty() ? nullptr : list_contents(tracer, args.positional[0]);
  if (list == nullptr) break_on_method(args, method);
  return list->items;
}

const ValuePtr& dict_of(Tracer& tracer, const CallArgs& args, const char* method) {
  // For a subclass this is a call of dict's own method. On an OrderedDict such a method would bypass its order.
  auto* object = args.positional.empty() ? nullptr : as<ObjectValue>(args.positional[0]);
  bool is_subclass = object != nullptr && PyDict_Check(object->object.get()) && is_dict(tracer, args.positional[0], {});
  bool is_dict = !args.positional.empty() && (args.positional[0]->kind == ValueKind::Dict || is_subclass ||
                                              tracer.values().is_exactly(args.positional[0], &PyDict_Type));
  if (!is_dict) break_on_method(args, method);
  return args.positional[0];
}

ValuePtr list_append(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 1);
  if (!list_append(tracer, args.positional[0], args.positional[1])) break_on_method(args, "append");
  return tracer.values().none();
}

ValuePtr list_extend(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 1);
  if (!takes_items(tracer, args.positional[0])) break_on_method(args, "extend");
  if (!list_extend(tracer, args.positional[0], args.positional[1]))
    graph_break(BreakReason::unknown_iteration, describe(args.positional[1]));
  return tracer.values().none();
}

// list.__init__(self, items)
ValuePtr list_init(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 1);
  int64_t length = static_cast<int64_t>(list_of(tracer, args, "__init__").size());
  list_splice(tracer, args.positional[0], 0, length, {});
  if (args.positional.size() > 1 && !list_extend(tracer, args.positional[0], args.positional[1]))
    graph_break(BreakReason::unknown_iteration, describe(args.positional[1]));
  return tracer.values().none();
}

ValuePtr list_pop(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 1);
  std::optional<int64_t> index = args.positional.size() > 1 ? int_of(tracer, args.positional[1]) : -1;
  if (!index) graph_break(BreakReason::unknown_subscript, "list.pop at an unknown place");
  std::vector<ValuePtr>& items = list_of(tracer, args, "pop");
  int64_t length = static_cast<int64_t>(items.size());
  int64_t at = *index < 0 ? *index + length : *index;
  if (length == 0) raise_known(tracer, PyExc_IndexError, {tracer.values().string("pop from empty list")});
  if (at < 0 || at >= length) raise_known(tracer, PyExc_IndexError, {tracer.values().string("pop index out of range")});
  ValuePtr value = items[at];
  list_splice(tracer, args.positional[0], at, at + 1, {});
  return value;
}

ValuePtr list_insert(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 2, 2);
  std::optional<int64_t> index = int_of(tracer, args.positional[1]);
  if (!index) graph_break(BreakReason::unknown_subscript, "list.insert at an unknown place");
  int64_t length = static_cast<int64_t>(list_of(tracer, args, "insert").size());
  int64_t at = *index < 0 ? std::max<int64_t>(0, *index + length) : std::min(*index, length);
  list_splice(tracer, args.positional[0], at, at, {args.positional[2]});
  return tracer.values().none();
}

ValuePtr list_reverse(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 0);
  const std::vector<ValuePtr>& items = list_of(tracer, args, "reverse");
  std::vector<ValuePtr> reversed(items.rbegin(), items.rend());
  list_splice(tracer, args.positional[0], 0, static_cast<int64_t>(items.size()), std::move(reversed));
  return tracer.values().none();
}

ValuePtr list_clear(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 0);
  int64_t length = static_cast<int64_t>(list_of(tracer, args, "clear").size());
  list_splice(tracer, args.positional[0], 0, length, {});
  return tracer.values().none();
}

ValuePtr list_remove(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 1);
  const std::vector<ValuePtr> items = list_of(tracer, args, "remove");
  for (size_t i = 0; i < items.size(); ++i) {
    int64_t step = tracer.step_number();
    std::optional<bool> equal = known_equal(tracer, items[i], args.positional[1]);
    break_if_changed(tracer, step, args.positional[0], items);
    if (!equal) graph_break(BreakReason::unknown_comparison, describe(items[i]));
    if (!*equal) continue;
    list_splice(tracer, args.positional[0], static_cast<int64_t>(i), static_cast<int64_t>(i) + 1, {});
    return tracer.values().none();
  }
  raise_here();
}

template <bool counts>
ValuePtr list_index(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, counts ? 1 : 3);
  auto items = elements_of(tracer, args.positional[0]);
  if (!items) break_on_method(args, "index");
  return search_items(tracer, args, *items, counts);
}

ValuePtr list_copy(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 0);
  auto items = elements_of(tracer, args.positional[0]);
  if (!items) raise_here();
  return make_value<SequenceValue>(true, std::move(*items));
}

template <int what>
ValuePtr dict_view(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 0);
  auto* object = as<ObjectValue>(args.positional[0]);
  bool is_known = object == nullptr || (PyDict_Check(object->object.get()) && is_dict(tracer, args.positional[0], {}));
  if (!is_known) break_on_method(args, "view");
  return make_value<DictViewValue>(args.positional[0], what);
}

ValuePtr dict_get(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 2);
  Ref key = key_in(tracer, args.positional[0], args.positional[1]);
  ValuePtr missing = args.positional.size() > 2 ? args.positional[2] : tracer.values().none();
  ValuePtr item = dict_item(tracer, dict_of(tracer, args, "get"), key.get());
  return item ? item : missing;
}

DictValue::Entry entry_of_pair(Tracer& tracer, const ValuePtr& pair) {
  auto items = iterate(tracer, pair);
  if (!items || items->size() != 2) raise_here();
  return {key_of(tracer, (*items)[0], /*alone=*/false), (*items)[1]};
}

// Stores the items one by one as the iterator yields them: it may raise midway.
void update_from(Tracer& tracer, const ValuePtr& dict, IteratorValue* pairs) {
  while (std::optional<ValuePtr> pair = next_of(tracer, pairs)) {
    DictValue::Entry store = entry_of_pair(tracer, *pair);
    dict_item(tracer, dict, store.key.get());
    dict_set(tracer, dict, store.key.get(), store.value);
  }
}

std::vector<DictValue::Entry> entries_for_update(Tracer& tracer, const ValuePtr& given) {
  const ValuePtr value = copied_mapping(tracer, given);
  if (auto entries = entries_of(tracer, value)) return std::move(*entries);
  auto pairs = iterate(tracer, value, LengthHint::NotAsked);
  if (!pairs) graph_break(BreakReason::unknown_container, describe(value));
  std::vector<DictValue::Entry> entries;
  for (const ValuePtr& pair : *pairs) entries.push_back(entry_of_pair(tracer, pair));
  return entries;
}

// Returns true if the dict is known to be empty, or must be because the key is unhashable: dict.pop hashes the key only
// if the dict is not empty.
bool is_empty_for(Tracer& tracer, const ValuePtr& dict, const ValuePtr& key) {
  if (PyType_IsSubtype(type_of(dict), &PyODict_Type) != 0) return false;
  if (auto* made = as<DictValue>(dict)) return made->entries.empty();
  PyTypeObject* type = type_of(key);
  bool is_unhashable = type != nullptr && (type->tp_hash == PyObject_HashNotImplemented || type == &PySlice_Type);
  return is_unhashable && length_of(tracer, dict) == 0;
}

ValuePtr dict_pop(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 2);
  const ValuePtr& dict = dict_of(tracer, args, "pop");
  if (is_empty_for(tracer, dict, args.positional[1])) {
    if (args.positional.size() < 3) raise_known(tracer, PyExc_KeyError, {args.positional[1]});
    return args.positional[2];
  }
  Ref key = key_in(tracer, dict, args.positional[1]);
  ValuePtr value = dict_item(tracer, dict, key.get());
  if (!value && args.positional.size() < 3) raise_known(tracer, PyExc_KeyError, {args.positional[1]});
  if (!value) return args.positional[2];
  dict_delete(tracer, dict, key.get());
  return value;
}

ValuePtr dict_popitem(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 0);
  const ValuePtr& dict = dict_of(tracer, args, "popitem");
  auto entries = entries_of(tracer, dict);
  if (!entries) break_on_method(args, "popitem");
  if (entries->empty()) raise_here();
  DictValue::Entry last = entries->back();
  dict_delete(tracer, dict, last.key.get());
  return make_value<SequenceValue>(false, std::vector<ValuePtr>{value_of_key(tracer, last.key.get()), last.value});
}

ValuePtr dict_clear(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 0);
  dict_clear(tracer, dict_of(tracer, args, "clear"));
  return tracer.values().none();
}

ValuePtr dict_setdefault(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 2);
  const ValuePtr& dict = dict_of(tracer, args, "setdefault");
  Ref key = key_in(tracer, dict, args.positional[1]);
  if (ValuePtr known = dict_item(tracer, dict, key.get())) return known;
  ValuePtr value = args.positional.size() > 2 ? args.positional[2] : tracer.values().none();
  dict_set(tracer, dict, key.get(), value);
  return value;
}

ValuePtr dict_update(Tracer& tracer, const CallArgs& args) {
  const ValuePtr& dict = dict_of(tracer, args, "update");
  if (args.positional.size() > 2) raise_here();
  std::vector<DictValue::Entry> stores;
  auto* iterator = args.positional.size() == 2 ? as<IteratorValue>(args.positional[1]) : nullptr;
  if (iterator != nullptr) {
    update_from(tracer, dict, iterator);
  } else if (args.positional.size() == 2) {
    stores = entries_for_update(tracer, args.positional[1]);
  }
  for (const auto& [name, value] : args.keywords) stores.push_back({name, value});
  // All look-ups precede the first store.
  for (const DictValue::Entry& store : stores) dict_item(tracer, dict, store.key.get());
  for (const DictValue::Entry& store : stores) dict_set(tracer, dict, store.key.get(), store.value);
  return tracer.values().none();
}

// Where the class has a __setitem__ of its own, that stores each item: a polyfill of the method.
template <const char* method>
ValuePtr ordered_update(Tracer& tracer, const CallArgs& args) {
  const ValuePtr& dict = dict_of(tracer, args, method);
  if (!is_dict(tracer, dict, {"__setitem__"})) {
    PyObject* own = _PyType_Lookup(&PyODict_Type, check(PyUnicode_InternFromString(method)));
    return call_now(tracer, find_polyfill(own), args);
  }
  if (args.positional.size() == 2) require_own_items(tracer, args.positional[1]);
  return dict_update(tracer, args);
}
constexpr char kUpdate[] = "update", kInit[] = "__init__";

ValuePtr dict_copy(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 0);
  auto entries = type_of(args.positional[0]) == &PyDict_Type ? entries_of(tracer, args.positional[0]) : nullptr;
  if (!entries) graph_break(BreakReason::unknown_container, describe(args.positional[0]));
  auto copy = make_value<DictValue>();
  copy->entries = std::move(*entries);
  return copy;
}

// dict.fromkeys(keys, value), on dict itself.
ValuePtr dict_from_keys(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() < 2 || args.positional.size() > 3 || !args.keywords.empty()) raise_here();
  if (tracer.values().identity_of(args.positional[0]).get() != reinterpret_cast<PyObject*>(&PyDict_Type))
    graph_break(BreakReason::unknown_container, "fromkeys of a subclass");
  auto keys = iterate(tracer, args.positional[1], LengthHint::NotAsked);
  if (!keys) graph_break(BreakReason::unknown_iteration, describe(args.positional[1]));
  auto dict = make_value<DictValue>();
  ValuePtr value = args.positional.size() > 2 ? args.positional[2] : tracer.values().none();
  for (const ValuePtr& key : *keys) dict_set(tracer, dict, key_of(tracer, key, /*alone=*/false).get(), value);
  return dict;
}

// dict.__getitem__(d, key), possibly used as __getattr__.
ValuePtr dict_get_item(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 1);
  const ValuePtr& dict = dict_of(tracer, args, "__getitem__");
  if (type_of(dict) != &PyDict_Type &&
      type_attribute(tracer, dict, check(PyUnicode_InternFromString("__missing__")).get()))
    break_on_method(args, "__getitem__");
  ValuePtr item = dict_item(tracer, dict, key_of(tracer, args.positional[1]).get());
  if (!item) raise_known(tracer, PyExc_KeyError, {args.positional[1]});
  return item;
}

// The methods of dict that follow are also called past those of a subclass.
ValuePtr dict_set_item(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 2, 2);
  const ValuePtr& dict = dict_of(tracer, args, "__setitem__");
  dict_set(tracer, dict, key_in(tracer, dict, args.positional[1]).get(), args.positional[2]);
  return tracer.values().none();
}

ValuePtr dict_delete_item(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 1);
  const ValuePtr& dict = dict_of(tracer, args, "__delitem__");
  if (!dict_delete(tracer, dict, key_in(tracer, dict, args.positional[1]).get()))
    raise_known(tracer, PyExc_KeyError, {args.positional[1]});
  return tracer.values().none();
}

ValuePtr dict_has_item(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 1);
  const ValuePtr& dict = dict_of(tracer, args, "__contains__");
  return tracer.values().boolean(
      static_cast<bool>(dict_item(tracer, dict, key_in(tracer, dict, args.positional[1]).get())));
}

// The entries of an OrderedDict, created in the trace or pre-existing.
std::vector<DictValue::Entry> ordered_entries(Tracer& tracer, const ValuePtr& dict, const char* method) {
  if (auto* made = as<DictValue>(dict)) return made->entries;
  auto entries = entries_of(tracer, dict);
  if (!entries) graph_break(BreakReason::store_subscript, str_cat(method, " on a ", describe(dict)));
  return std::move(*entries);
}

bool last_of(Tracer& tracer, const CallArgs& args, size_t place) {
  const ValuePtr* last = args.positional.size() > place ? &args.positional[place] : args.keyword("last");
  bool by_name = last != nullptr && args.positional.size() <= place;
  if (args.positional.size() > place + 1 || args.keywords.size() > (by_name ? 1u : 0u)) raise_here();
  std::optional<bool> truth = last != nullptr ? truth_of(tracer, *last) : true;
  if (!truth) graph_break(BreakReason::unknown_truth, describe(*last));
  return *truth;
}

// Moving to the front of a pre-existing one moves all others to the end.
constexpr size_t kMostMoved = 64;

void move_entry(Tracer& tracer, const ValuePtr& dict, const DictValue::Entry& moved, bool last) {
  auto to_end = [&](const DictValue::Entry& entry) {
    dict_delete(tracer, dict, entry.key.get());
    dict_set(tracer, dict, entry.key.get(), entry.value);
  };
  if (last) return to_end(moved);
  const std::vector<DictValue::Entry> entries = ordered_entries(tracer, dict, "move_to_end");
  if (entries.size() > kMostMoved) graph_break(BreakReason::unknown_container, "a long OrderedDict that is reordered");
  for (const DictValue::Entry& entry : entries)
    if (entry.key.get() != moved.key.get()) to_end(entry);
}

ValuePtr ordered_move_to_end(Tracer& tracer, const CallArgs& args) {
  const ValuePtr& dict = dict_of(tracer, args, "move_to_end");
  if (args.positional.size() < 2) raise_here();
  bool last = last_of(tracer, args, 2);
  DictValue known;
  known.entries = ordered_entries(tracer, dict, "move_to_end");
  // An empty one does not hash the key.
  if (known.entries.empty()) raise_known(tracer, PyExc_KeyError, {args.positional[1]});
  Ref key = key_of(tracer, args.positional[1]);
  auto* made = as<DictValue>(dict);
  if (made != nullptr) keep_apart_in_dict(tracer, key, *made);
  int at = known.find(key);
  if (at < 0) raise_known(tracer, PyExc_KeyError, {args.positional[1]});
  DictValue::Entry entry = known.entries[static_cast<size_t>(at)];
  if (made == nullptr) {
    move_entry(tracer, dict, entry, last);
    return tracer.values().none();
  }
  made->entries.erase(made->entries.begin() + at);
  made->entries.insert(last ? made->entries.end() : made->entries.begin(), entry);
  ++made->erased;  // so that iterators notice the move
  return tracer.values().none();
}

ValuePtr ordered_popitem(Tracer& tracer, const CallArgs& args) {
  const ValuePtr& dict = dict_of(tracer, args, "popitem");
  bool last = last_of(tracer, args, 1);
  const std::vector<DictValue::Entry> entries = ordered_entries(tracer, dict, "popitem");
  if (entries.empty()) raise_known(tracer, PyExc_KeyError, {tracer.values().string("dictionary is empty")});
  DictValue::Entry entry = last ? entries.back() : entries.front();
  dict_delete(tracer, dict, entry.key.get());
  return make_value<SequenceValue>(false, std::vector<ValuePtr>{value_of_key(tracer, entry.key.get()), entry.value});
}

// A method of dict on an OrderedDict bypasses its order, and may corrupt it.
template <ValuePtr (*handler)(Tracer&, const CallArgs&)>
ValuePtr of_dict(Tracer& tracer, const CallArgs& args) {
  PyTypeObject* type = args.positional.empty() ? nullptr : type_of(args.positional[0]);
  if (type != nullptr && PyType_IsSubtype(type, &PyODict_Type) != 0) break_on_method(args, "a method of dict");
  return handler(tracer, args);
}

// Those of OrderedDict call the methods of a subclass.
template <ValuePtr (*handler)(Tracer&, const CallArgs&)>
ValuePtr of_ordered(Tracer& tracer, const CallArgs& args) {
  if (args.positional.empty() ||
      !is_dict(tracer, args.positional[0], {"__setitem__", "__getitem__", "__delitem__", "__contains__"}))
    break_on_method(args, "a method of OrderedDict");
  return handler(tracer, args);
}

struct MethodRow {
  PyTypeObject* type;
  const char* name;
  CallHandler handler;
};

void add_container_methods() {
  const MethodRow rows[] = {{&PyList_Type, "append", list_append},
                            {&PyList_Type, "extend", list_extend},
                            {&PyList_Type, "__init__", list_init},
                            {&PyList_Type, "pop", list_pop},
                            {&PyList_Type, "insert", list_insert},
                            {&PyList_Type, "reverse", list_reverse},
                            {&PyList_Type, "clear", list_clear},
                            {&PyList_Type, "copy", list_copy},
                            {&PyList_Type, "remove", list_remove},
                            {&PyList_Type, "index", list_index<false>},
                            {&PyList_Type, "count", list_index<true>},
                            {&PyDict_Type, "keys", of_dict<dict_view<0>>},
                            {&PyDict_Type, "values", of_dict<dict_view<1>>},
                            {&PyDict_Type, "items", of_dict<dict_view<2>>},
                            {&PyDict_Type, "get", dict_get},
                            {&PyDict_Type, "pop", of_dict<dict_pop>},
                            {&PyDict_Type, "popitem", of_dict<dict_popitem>},
                            {&PyDict_Type, "clear", of_dict<dict_clear>},
                            {&PyDict_Type, "setdefault", of_dict<dict_setdefault>},
                            {&PyDict_Type, "update", of_dict<dict_update>},
                            {&PyDict_Type, "copy", of_dict<dict_copy>},
                            {&PyDict_Type, "__init__", dict_update},
                            {&PyDict_Type, "__getitem__", dict_get_item},
                            {&PyDict_Type, "__setitem__", of_dict<dict_set_item>},
                            {&PyDict_Type, "__delitem__", of_dict<dict_delete_item>},
                            {&PyDict_Type, "__contains__", dict_has_item},
                            {&PyODict_Type, "__setitem__", dict_set_item},
                            {&PyODict_Type, "__delitem__", dict_delete_item},
                            {&PyODict_Type, "__init__", ordered_update<kInit>},
                            {&PyODict_Type, "keys", dict_view<0>},
                            {&PyODict_Type, "values", dict_view<1>},
                            {&PyODict_Type, "items", dict_view<2>},
                            {&PyODict_Type, "pop", of_ordered<dict_pop>},
                            {&PyODict_Type, "clear", dict_clear},
                            {&PyODict_Type, "setdefault", of_ordered<dict_setdefault>},
                            {&PyODict_Type, "update", ordered_update<kUpdate>},
                            {&PyODict_Type, "move_to_end", ordered_move_to_end},
                            {&PyODict_Type, "popitem", of_ordered<ordered_popitem>}};
  Ref methods = check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), "__dict__"));
  register_call(check(PyMapping_GetItemString(methods, "fromkeys")).get(), dict_from_keys);
  for (const MethodRow& row : rows)
    register_call(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(row.type), row.name)).get(), row.handler);
}

const CallRegistration call_registration(add_container_methods);

}  // namespace

}  // namespace md
