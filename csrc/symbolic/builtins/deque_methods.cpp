// collections.deque: made by calling it, and its methods, on those made here and on those from outside.
#include <algorithm>

#include "cpython/library_types.h"
#include "guards/object_fields.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/builtins/sequence_search.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

std::vector<ValuePtr>& contents_of(Walk& walk, const CallArgs& args, bool keeps_iterators = false) {
  std::vector<ValuePtr>* items = deque_contents(walk, args.positional[0], keeps_iterators);
  if (items == nullptr) graph_break(BreakReason::unknown_container, describe(args.positional[0]));
  return *items;
}

// How many it may hold; -1: any number.
int64_t room_of(Walk& walk, const ValuePtr& deque) {
  static PyObject* const kMaxlen = PyUnicode_InternFromString("maxlen");
  auto* made = as<SequenceValue>(deque);
  if (made == nullptr) {
    auto* object = as<ObjectValue>(deque);
    std::optional<int> field = object_field(walk.values().exact_type(deque), kMaxlen);
    ValuePtr maxlen = value_at(walk, walk.sources().get(SourceKind::Field, object->source, kMaxlen, *field));
    if (!maxlen) graph_break(BreakReason::unknown_container, "a deque of more than 256 places");
    if (Ref known = constant_of(walk, maxlen); known.get() == Py_None) return -1;
    return *int_of(walk, maxlen);
  }
  if (same_object(walk, made->maxlen, walk.values().none())) return -1;
  return *int_of(walk, made->maxlen);
}

void push_back(Walk& walk, const ValuePtr& deque, std::vector<ValuePtr>& items, ValuePtr value) {
  int64_t room = room_of(walk, deque);
  items.push_back(std::move(value));
  if (room >= 0 && static_cast<int64_t>(items.size()) > room) items.erase(items.begin());
}

void push_front(Walk& walk, const ValuePtr& deque, std::vector<ValuePtr>& items, ValuePtr value) {
  int64_t room = room_of(walk, deque);
  items.insert(items.begin(), std::move(value));
  if (room >= 0 && static_cast<int64_t>(items.size()) > room) items.pop_back();
}

ValuePtr call_deque(Walk& walk, const CallArgs& args) {
  ValuePtr items = args.positional.empty() ? nullptr : args.positional[0], maxlen = walk.values().none();
  if (args.positional.size() > 2) raise_here();
  if (args.positional.size() == 2) maxlen = args.positional[1];
  for (const auto& [name, value] : args.keywords) {
    if (PyUnicode_CompareWithASCIIString(name, "iterable") == 0 && !items) {
      items = value;
    } else if (PyUnicode_CompareWithASCIIString(name, "maxlen") == 0 && args.positional.size() < 2) {
      maxlen = value;
    } else {
      raise_here();
    }
  }
  bool is_bounded = !same_object(walk, maxlen, walk.values().none());
  std::optional<int64_t> room = is_bounded ? int_of(walk, maxlen) : 0;
  if (!room || *room < 0) raise_here();
  auto made = make_value<SequenceValue>(true, std::vector<ValuePtr>{});
  made->type = walk.values().constant(reinterpret_cast<PyObject*>(deque_type()));
  made->maxlen = maxlen;
  auto elements = items ? iterate(walk, items) : std::make_unique<std::vector<ValuePtr>>();
  if (!elements) graph_break(BreakReason::unknown_iteration, describe(items));
  made->items = std::move(*elements);
  if (is_bounded && static_cast<int64_t>(made->items.size()) > *room)
    made->items.erase(made->items.begin(), made->items.end() - *room);
  return made;
}

template <bool at_left>
ValuePtr call_append(Walk& walk, const CallArgs& args) {
  require_method_count(args, 1, 1);
  std::vector<ValuePtr>& items = contents_of(walk, args);
  (at_left ? push_front : push_back)(walk, args.positional[0], items, args.positional[1]);
  return walk.values().none();
}

template <bool at_left>
ValuePtr call_extend(Walk& walk, const CallArgs& args) {
  require_method_count(args, 1, 1);
  // A deque that is extended by itself is copied first.
  auto values = iterate(walk, args.positional[1], LengthHint::NotAsked);
  if (!values) graph_break(BreakReason::unknown_iteration, describe(args.positional[1]));
  bool is_same = values->empty() || room_of(walk, args.positional[0]) == 0;
  std::vector<ValuePtr>& items = contents_of(walk, args, /*keeps_iterators=*/is_same);
  for (ValuePtr& value : *values) (at_left ? push_front : push_back)(walk, args.positional[0], items, std::move(value));
  return walk.values().none();
}

template <bool at_left>
ValuePtr call_pop(Walk& walk, const CallArgs& args) {
  require_method_count(args, 0, 0);
  std::optional<int64_t> length = length_of(walk, args.positional[0]);
  if (length && *length == 0) raise_known(walk, PyExc_IndexError, {walk.values().string("pop from an empty deque")});
  std::vector<ValuePtr>& items = contents_of(walk, args);
  ValuePtr value = at_left ? items.front() : items.back();
  items.erase(at_left ? items.begin() : items.end() - 1);
  return value;
}

ValuePtr call_clear(Walk& walk, const CallArgs& args) {
  require_method_count(args, 0, 0);
  bool is_same = length_of(walk, args.positional[0]) == 0;
  contents_of(walk, args, /*keeps_iterators=*/is_same).clear();
  return walk.values().none();
}

ValuePtr call_rotate(Walk& walk, const CallArgs& args) {
  require_method_count(args, 0, 1);
  std::optional<int64_t> by = args.positional.size() > 1 ? int_of(walk, args.positional[1]) : 1;
  if (!by) graph_break(BreakReason::unknown_subscript, "deque.rotate by an unknown number");
  int64_t length = length_of(walk, args.positional[0]).value_or(0);
  std::vector<ValuePtr>& items = contents_of(walk, args, /*keeps_iterators=*/length < 2);
  if (length == 0) return walk.values().none();
  int64_t steps = ((*by % length) + length) % length;
  std::rotate(items.begin(), items.end() - steps, items.end());
  return walk.values().none();
}

ValuePtr call_reverse(Walk& walk, const CallArgs& args) {
  require_method_count(args, 0, 0);
  std::vector<ValuePtr>& items = contents_of(walk, args, /*keeps_iterators=*/true);
  std::reverse(items.begin(), items.end());
  return walk.values().none();
}

ValuePtr call_copy(Walk& walk, const CallArgs& args) {
  require_method_count(args, 0, 0);
  auto elements = elements_of(walk, args.positional[0]);
  if (!elements) raise_here();
  int64_t room = room_of(walk, args.positional[0]);
  auto made = make_value<SequenceValue>(true, std::move(*elements));
  made->type = walk.values().constant(reinterpret_cast<PyObject*>(deque_type()));
  made->maxlen = room < 0 ? walk.values().none() : walk.values().integer(room);
  return made;
}

template <bool counts>
ValuePtr call_search(Walk& walk, const CallArgs& args) {
  require_method_count(args, 1, 1);
  auto items = elements_of(walk, args.positional[0]);
  if (!items) raise_here();
  return search_items(walk, args, *items, counts);
}

struct MethodRow {
  const char* name;
  CallHandler handler;
};
const MethodRow kMethods[] = {{"append", call_append<false>}, {"appendleft", call_append<true>},
                              {"extend", call_extend<false>}, {"extendleft", call_extend<true>},
                              {"pop", call_pop<false>},       {"popleft", call_pop<true>},
                              {"clear", call_clear},          {"rotate", call_rotate},
                              {"reverse", call_reverse},      {"copy", call_copy},
                              {"__copy__", call_copy},        {"index", call_search<false>},
                              {"count", call_search<true>}};

void add_deque_methods() {
  auto* type = reinterpret_cast<PyObject*>(deque_type());
  register_call(type, call_deque);
  for (const MethodRow& row : kMethods) register_call(check(PyObject_GetAttrString(type, row.name)).get(), row.handler);
}

const CallRegistration call_registration(add_deque_methods);

}  // namespace

}  // namespace md
