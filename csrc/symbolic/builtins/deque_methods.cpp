// collections.deque: construction and methods, on deques created in the trace and pre-existing ones.
#include <algorithm>

#include "symbolic/builtins/deque_methods.h"

#include "cpython/library_types.h"
#include "guards/object_fields.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/builtins/sequence_search.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

std::vector<ValuePtr>& contents_of(Tracer& tracer, const CallArgs& args, bool keeps_iterators = false) {
  std::vector<ValuePtr>* items = deque_contents(tracer, args.positional[0], keeps_iterators);
  if (items == nullptr) graph_break(BreakReason::unknown_container, describe(args.positional[0]));
  return *items;
}

}  // namespace

int64_t room_of(Tracer& tracer, const ValuePtr& deque) {
  static PyObject* const kMaxlen = PyUnicode_InternFromString("maxlen");
  auto* made = as<SequenceValue>(deque);
  if (made == nullptr) {
    auto* object = as<ObjectValue>(deque);
    std::optional<int> field = object_field(tracer.values().exact_type(deque), kMaxlen);
    ValuePtr maxlen = value_at(tracer, tracer.sources().get(SourceKind::Field, object->source, kMaxlen, *field));
    if (!maxlen) graph_break(BreakReason::unknown_container, "a deque of more than 256 places");
    if (Ref known = constant_of(tracer, maxlen); known.get() == Py_None) return -1;
    return *int_of(tracer, maxlen);
  }
  if (same_object(tracer, made->maxlen, tracer.values().none())) return -1;
  return *int_of(tracer, made->maxlen);
}

namespace {

void push_back(Tracer& tracer, const ValuePtr& deque, std::vector<ValuePtr>& items, ValuePtr value) {
  int64_t room = room_of(tracer, deque);
  items.push_back(std::move(value));
  if (room >= 0 && static_cast<int64_t>(items.size()) > room) items.erase(items.begin());
}

void push_front(Tracer& tracer, const ValuePtr& deque, std::vector<ValuePtr>& items, ValuePtr value) {
  int64_t room = room_of(tracer, deque);
  items.insert(items.begin(), std::move(value));
  if (room >= 0 && static_cast<int64_t>(items.size()) > room) items.pop_back();
}

ValuePtr call_deque(Tracer& tracer, const CallArgs& args) {
  ValuePtr items = args.positional.empty() ? nullptr : args.positional[0], maxlen = tracer.values().none();
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
  bool is_bounded = !same_object(tracer, maxlen, tracer.values().none());
  std::optional<int64_t> room = is_bounded ? int_of(tracer, maxlen) : 0;
  if (!room || *room < 0) raise_here();
  auto made = make_value<SequenceValue>(true, std::vector<ValuePtr>{});
  made->type = tracer.values().constant(reinterpret_cast<PyObject*>(deque_type()));
  made->maxlen = maxlen;
  auto elements = items ? iterate(tracer, items) : std::make_unique<std::vector<ValuePtr>>();
  if (!elements) graph_break(BreakReason::unknown_iteration, describe(items));
  made->items = std::move(*elements);
  if (is_bounded && static_cast<int64_t>(made->items.size()) > *room)
    made->items.erase(made->items.begin(), made->items.end() - *room);
  return made;
}

template <bool at_left>
ValuePtr call_append(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 1);
  std::vector<ValuePtr>& items = contents_of(tracer, args);
  (at_left ? push_front : push_back)(tracer, args.positional[0], items, args.positional[1]);
  return tracer.values().none();
}

template <bool at_left>
ValuePtr call_extend(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 1);
  // A deque extended by itself is copied first.
  auto values = iterate(tracer, args.positional[1], LengthHint::NotAsked);
  if (!values) graph_break(BreakReason::unknown_iteration, describe(args.positional[1]));
  bool is_same = values->empty() || room_of(tracer, args.positional[0]) == 0;
  std::vector<ValuePtr>& items = contents_of(tracer, args, /*keeps_iterators=*/is_same);
  for (ValuePtr& value : *values)
    (at_left ? push_front : push_back)(tracer, args.positional[0], items, std::move(value));
  return tracer.values().none();
}

template <bool at_left>
ValuePtr call_pop(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 0);
  std::optional<int64_t> length = length_of(tracer, args.positional[0]);
  if (length && *length == 0)
    raise_known(tracer, PyExc_IndexError, {tracer.values().string("pop from an empty deque")});
  std::vector<ValuePtr>& items = contents_of(tracer, args);
  ValuePtr value = at_left ? items.front() : items.back();
  items.erase(at_left ? items.begin() : items.end() - 1);
  return value;
}

ValuePtr call_clear(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 0);
  bool is_same = length_of(tracer, args.positional[0]) == 0;
  contents_of(tracer, args, /*keeps_iterators=*/is_same).clear();
  return tracer.values().none();
}

ValuePtr call_rotate(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 1);
  std::optional<int64_t> by = args.positional.size() > 1 ? int_of(tracer, args.positional[1]) : 1;
  if (!by) graph_break(BreakReason::unknown_subscript, "deque.rotate by an unknown number");
  int64_t length = length_of(tracer, args.positional[0]).value_or(0);
  std::vector<ValuePtr>& items = contents_of(tracer, args, /*keeps_iterators=*/length < 2);
  if (length == 0) return tracer.values().none();
  int64_t steps = ((*by % length) + length) % length;
  std::rotate(items.begin(), items.end() - steps, items.end());
  return tracer.values().none();
}

ValuePtr call_reverse(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 0);
  std::vector<ValuePtr>& items = contents_of(tracer, args, /*keeps_iterators=*/true);
  std::reverse(items.begin(), items.end());
  return tracer.values().none();
}

ValuePtr call_copy(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 0, 0);
  auto elements = elements_of(tracer, args.positional[0]);
  if (!elements) raise_here();
  int64_t room = room_of(tracer, args.positional[0]);
  auto made = make_value<SequenceValue>(true, std::move(*elements));
  made->type = tracer.values().constant(reinterpret_cast<PyObject*>(deque_type()));
  made->maxlen = room < 0 ? tracer.values().none() : tracer.values().integer(room);
  return made;
}

template <bool counts>
ValuePtr call_search(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, counts ? 1 : 3);
  auto items = elements_of(tracer, args.positional[0]);
  if (!items) raise_here();
  return search_items(tracer, args, *items, counts);
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
