// Methods of list and dict, on what the walk made; reading ones also on those that exist.
#include <algorithm>

#include "symbolic/walk.h"

namespace md {

namespace {

void require_count(Walk& walk, const CallArgs& args, size_t least, size_t most) {
  // Self is the first.
  if (args.positional.size() < least + 1 || args.positional.size() > most + 1 || !args.keywords.empty())
    walk.raise_here();
}

SequenceValue* own_list(Walk& walk, const CallArgs& args, const char* method) {
  auto* list = args.positional.empty() ? nullptr : as<SequenceValue>(args.positional[0]);
  if (list == nullptr || !list->is_list)
    walk.graph_break(BreakReason::store_subscript, str_cat("list.", method, " on a list from outside"));
  return list;
}

DictValue* own_dict(Walk& walk, const CallArgs& args, const char* method) {
  auto* dict = args.positional.empty() ? nullptr : as<DictValue>(args.positional[0]);
  if (dict == nullptr)
    walk.graph_break(BreakReason::store_subscript, str_cat("dict.", method, " on a dict from outside"));
  return dict;
}

Ref key_of(Walk& walk, const ValuePtr& value) {
  Ref key = walk.constant_of(value);
  if (!key) walk.graph_break(BreakReason::unhashable_key, describe(value));
  if (PyObject_Hash(key) == -1) walk.raise_here();
  return key;
}

ValuePtr list_append(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 1, 1);
  own_list(walk, args, "append")->items.push_back(args.positional[1]);
  return walk.none();
}

ValuePtr list_extend(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 1, 1);
  SequenceValue* list = own_list(walk, args, "extend");
  auto items = walk.iterate(args.positional[1]);
  if (!items) walk.graph_break(BreakReason::unknown_iteration, describe(args.positional[1]));
  list->items.insert(list->items.end(), items->begin(), items->end());
  return walk.none();
}

ValuePtr list_pop(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 0, 1);
  SequenceValue* list = own_list(walk, args, "pop");
  std::optional<int64_t> index = args.positional.size() > 1 ? walk.int_of(args.positional[1]) : -1;
  if (!index) walk.graph_break(BreakReason::unknown_subscript, "list.pop at an unknown place");
  int64_t length = static_cast<int64_t>(list->items.size());
  int64_t at = *index < 0 ? *index + length : *index;
  if (at < 0 || at >= length) walk.raise_here();
  ValuePtr value = list->items[at];
  list->items.erase(list->items.begin() + at);
  return value;
}

ValuePtr list_insert(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 2, 2);
  SequenceValue* list = own_list(walk, args, "insert");
  std::optional<int64_t> index = walk.int_of(args.positional[1]);
  if (!index) walk.graph_break(BreakReason::unknown_subscript, "list.insert at an unknown place");
  int64_t length = static_cast<int64_t>(list->items.size());
  int64_t at = *index < 0 ? std::max<int64_t>(0, *index + length) : std::min(*index, length);
  list->items.insert(list->items.begin() + at, args.positional[2]);
  return walk.none();
}

ValuePtr list_reverse(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 0, 0);
  SequenceValue* list = own_list(walk, args, "reverse");
  std::reverse(list->items.begin(), list->items.end());
  return walk.none();
}

ValuePtr list_clear(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 0, 0);
  own_list(walk, args, "clear")->items.clear();
  return walk.none();
}

ValuePtr list_copy(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 0, 0);
  auto items = walk.elements_of(args.positional[0]);
  if (!items) walk.raise_here();
  return make_value<SequenceValue>(true, std::move(*items));
}

template <int what>
ValuePtr dict_view(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 0, 0);
  return make_value<DictViewValue>(args.positional[0], what);
}

ValuePtr dict_get(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 1, 2);
  Ref key = key_of(walk, args.positional[1]);
  ValuePtr missing = args.positional.size() > 2 ? args.positional[2] : walk.none();
  if (auto* dict = as<DictValue>(args.positional[0])) {
    int at = dict->find(key.get());
    return at < 0 ? missing : dict->entries[at].value;
  }
  auto* known = as<ObjectValue>(args.positional[0]);
  if (known == nullptr || known->source == nullptr || !walk.is_exactly(args.positional[0], &PyDict_Type))
    walk.graph_break(BreakReason::unknown_container, describe(args.positional[0]));
  PyObject* item = nullptr;
  if (lookup_constant(known->object, exact_constant(key.get()), &item) < 0)
    walk.graph_break(BreakReason::unhashable_key, describe(args.positional[1]));
  walk.guards().dict_contains(known->source, key.get(), item != nullptr);
  if (item == nullptr) return missing;
  return walk.at(walk.sources().get(SourceKind::DictItem, known->source, key.get()), Ref::share(item));
}

ValuePtr dict_pop(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 1, 2);
  DictValue* dict = own_dict(walk, args, "pop");
  Ref key = key_of(walk, args.positional[1]);
  int at = dict->find(key.get());
  if (at < 0 && args.positional.size() < 3) walk.raise_here();
  if (at < 0) return args.positional[2];
  ValuePtr value = dict->entries[at].value;
  dict->erase(key.get());
  return value;
}

ValuePtr dict_setdefault(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 1, 2);
  DictValue* dict = own_dict(walk, args, "setdefault");
  Ref key = key_of(walk, args.positional[1]);
  int at = dict->find(key.get());
  if (at >= 0) return dict->entries[at].value;
  ValuePtr value = args.positional.size() > 2 ? args.positional[2] : walk.none();
  dict->set(key.get(), value);
  return value;
}

ValuePtr dict_update(Walk& walk, const CallArgs& args) {
  DictValue* dict = own_dict(walk, args, "update");
  if (args.positional.size() > 2) walk.raise_here();
  if (args.positional.size() == 2) {
    auto entries = walk.entries_of(args.positional[1]);
    if (!entries) walk.graph_break(BreakReason::unknown_container, describe(args.positional[1]));
    for (DictValue::Entry& entry : *entries) dict->set(entry.key.get(), entry.value);
  }
  for (const auto& [name, value] : args.keywords) dict->set(name.get(), value);
  return walk.none();
}

ValuePtr dict_copy(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 0, 0);
  auto entries = walk.entries_of(args.positional[0]);
  if (!entries) walk.graph_break(BreakReason::unknown_container, describe(args.positional[0]));
  auto copy = make_value<DictValue>();
  copy->entries = std::move(*entries);
  return copy;
}

ValuePtr set_add(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 1, 1);
  auto* set = as<SetValue>(args.positional[0]);
  if (set == nullptr) walk.graph_break(BreakReason::store_subscript, "set.add on a set from outside");
  set->add(key_of(walk, args.positional[1]).get());
  return walk.none();
}

struct MethodRow {
  PyTypeObject* type;
  const char* name;
  CallHandler handler;
};

}  // namespace

void register_container_methods() {
  const MethodRow rows[] = {{&PyList_Type, "append", list_append},
                            {&PyList_Type, "extend", list_extend},
                            {&PyList_Type, "pop", list_pop},
                            {&PyList_Type, "insert", list_insert},
                            {&PyList_Type, "reverse", list_reverse},
                            {&PyList_Type, "clear", list_clear},
                            {&PyList_Type, "copy", list_copy},
                            {&PyDict_Type, "keys", dict_view<0>},
                            {&PyDict_Type, "values", dict_view<1>},
                            {&PyDict_Type, "items", dict_view<2>},
                            {&PyDict_Type, "get", dict_get},
                            {&PyDict_Type, "pop", dict_pop},
                            {&PyDict_Type, "setdefault", dict_setdefault},
                            {&PyDict_Type, "update", dict_update},
                            {&PyDict_Type, "copy", dict_copy},
                            {&PySet_Type, "add", set_add}};
  for (const MethodRow& row : rows)
    register_call(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(row.type), row.name)).get(), row.handler);
}

}  // namespace md
