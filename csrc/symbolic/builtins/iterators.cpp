// Iteration over values known to the trace.
#include "symbolic/builtins/iterators.h"
#include "base/config.h"
#include "cpython/object_layout.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/polyfills.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/mapping_proxies.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/tensors/tensor_indexing.h"
#include "symbolic/tensors/tensor_parts.h"
#include "symbolic/trace/endings.h"
#include "symbolic/trace/tracer.h"
#include "symbolic/values/key_proxy.h"

namespace md {

namespace {

// What an element that is taken counts of the instructions of config.walk_limit.
constexpr int64_t kInstructionsOfItem = 10;

bool is_plain_sequence(Tracer& tracer, const ValuePtr& value) {
  return is_plain_tuple(tracer, value) || is_plain_list(tracer, value);
}

bool is_text(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  return object != nullptr && PyUnicode_CheckExact(object->object.get());
}

bool is_dict(const ValuePtr& value) {
  if (value->kind == ValueKind::Dict) return true;
  auto* object = as<ObjectValue>(value);
  return object != nullptr && PyDict_Check(object->object.get());
}

int64_t attribute_as_int(PyObject* range, const char* name, bool& fits) {
  Ref value = check(PyObject_GetAttrString(range, name));
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  fits = fits && overflow == 0;
  return number;
}

ValuePtr range_iterator(Tracer& tracer, const ValuePtr& value) {
  Ref range = constant_of(tracer, value);
  if (!range) return nullptr;
  bool fits = true;
  auto iterator = make_value<IteratorValue>(IteratorKind::Range, std::vector<ValuePtr>{});
  iterator->start = attribute_as_int(range, "start", fits);
  iterator->stop = attribute_as_int(range, "stop", fits);
  iterator->step = attribute_as_int(range, "step", fits);
  if (!fits) return nullptr;
  return iterator;
}

// The number of changes to a deque in this region.
int64_t changes_of(const ValuePtr& deque) {
  auto* sequence = as<SequenceValue>(deque);
  if (auto* object = as<ObjectValue>(deque))
    sequence = object->writes ? as<SequenceValue>(object->writes->contents) : nullptr;
  return sequence != nullptr ? sequence->changes : 0;
}

std::optional<ValuePtr> next_in_sequence(Tracer& tracer, IteratorValue* iterator, const ValuePtr& base) {
  // A deque that changes while it is iterated over raises.
  if (is_deque(base) && iterator->start != changes_of(base)) end_before_iteration(tracer, *iterator);
  if (is_text(base)) {
    Ref text = constant_of(tracer, base);
    if (iterator->index >= PyUnicode_GET_LENGTH(text.get())) return std::nullopt;
    return tracer.values().constant(check(PyUnicode_Substring(text, iterator->index, iterator->index + 1)));
  }
  if (auto* tensor = as<TensorValue>(base)) {
    if (iterator->index >= iterator->stop) return std::nullopt;
    return index_tensor(tracer, tensor, tracer.values().integer(iterator->index));
  }
  if (auto* sequence = as<SequenceValue>(base)) {
    if (iterator->index >= static_cast<int64_t>(sequence->items.size())) return std::nullopt;
    return sequence->items[iterator->index];
  }
  if (iterator->index >= *length_of(tracer, base)) return std::nullopt;
  return element(tracer, as<ObjectValue>(base), iterator->index);
}

std::optional<ValuePtr> next_reversed(Tracer& tracer, IteratorValue* iterator) {
  auto elements = elements_of(tracer, iterator->bases[0]);
  // A list may have grown or shrunk meanwhile.
  int64_t at = iterator->start - iterator->index;
  if (at < 0 || at >= static_cast<int64_t>(elements->size())) return std::nullopt;
  return (*elements)[at];
}

std::optional<ValuePtr> next_in_range(Tracer& tracer, IteratorValue* iterator) {
  bool done = iterator->step > 0 ? iterator->start >= iterator->stop : iterator->start <= iterator->stop;
  if (done) return std::nullopt;
  ValuePtr value = tracer.values().integer(iterator->start);
  iterator->start += iterator->step;
  return value;
}

// The number of entries removed from a dict in this region.
int64_t erased_from(const ValuePtr& dict) {
  auto* object = as<ObjectValue>(dict);
  auto* made = as<DictValue>(object != nullptr && object->writes ? object->writes->contents : dict);
  return made != nullptr ? made->erased : 0;
}

std::optional<ValuePtr> next_in_dict(Tracer& tracer, IteratorValue* iterator) {
  ValuePtr base = iterator->bases[0];
  auto* view = as<DictViewValue>(base);
  const ValuePtr& dict = view != nullptr ? view->dict : base;
  auto* object = as<ObjectValue>(dict);
  auto* held = as<DictValue>(object != nullptr && object->writes ? object->writes->contents : dict);
  std::shared_ptr<const std::vector<DictValue::Entry>> seen = iterator->entries;
  if (held == nullptr && (!seen || object == nullptr || object->writes)) seen = held_entries(tracer, dict);
  // A pre-existing dict without pending writes is unchanged.
  iterator->entries = object != nullptr && !object->writes ? seen : nullptr;
  const std::vector<DictValue::Entry>* entries = held != nullptr ? &held->entries : seen.get();
  // A dict that changes while it is iterated over raises.
  bool is_changed = static_cast<int64_t>(entries->size()) != iterator->stop || erased_from(dict) != iterator->start;
  if (is_changed) {
    ValueKind kind = dict->kind;
    if (kind == ValueKind::Dict || kind == ValueKind::InstanceDict) end_before_iteration(tracer, *iterator);
    raise_here();
  }
  if (iterator->index >= static_cast<int64_t>(entries->size())) return std::nullopt;
  size_t at = static_cast<size_t>(iterator->step < 0 ? iterator->stop - 1 - iterator->index : iterator->index);
  const DictValue::Entry& entry = (*entries)[at];
  int what = view != nullptr ? view->what : 0;
  if (what == 0) return value_of_key(tracer, entry.key.get());
  if (what == 1) return entry.value;
  return make_value<SequenceValue>(false, std::vector<ValuePtr>{value_of_key(tracer, entry.key.get()), entry.value});
}

bool is_unchanged_set(Tracer& tracer, IteratorValue& iterator) {
  if (auto* object = as<ObjectValue>(iterator.bases[0])) return !object->writes;
  auto* made = as<SetValue>(iterator.bases[0]);
  if (std::exchange(iterator.changes_seen, made->changes) == made->changes) return true;
  PyObject* set = made->set;
  const auto& seen = as<SequenceValue>(iterator.bases[1])->items;
  if (PySet_GET_SIZE(set) != static_cast<Py_ssize_t>(seen.size())) return false;
  Py_ssize_t position = 0;
  PyObject* item = nullptr;
  for (const ValuePtr& expected : seen) {
    if (pv_next_in_set(set, &position, &item) == 0) return false;
    auto* known = as<ObjectValue>(expected);
    if (known != nullptr ? known->object.get() != item : value_of_key(tracer, item) != expected) return false;
  }
  return true;
}

// Iterating over a set that changes meanwhile is left to the interpreter: it raises, or yields elements in the new
// order.
std::optional<ValuePtr> next_in_set(Tracer& tracer, IteratorValue* iterator) {
  if (!is_unchanged_set(tracer, *iterator)) end_before_iteration(tracer, *iterator);
  if (iterator->index >= iterator->stop) return std::nullopt;
  return as<SequenceValue>(iterator->bases[1])->items[static_cast<size_t>(iterator->index)];
}

ValuePtr set_iterator(Tracer& tracer, const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  // The order of a pre-existing set with pending writes is unknown.
  Ref set = object == nullptr || !object->writes ? set_contents(tracer, value) : Ref();
  if (!set) return nullptr;
  // The order is that of the object itself; a copy may differ.
  Ref order = check(PySequence_Tuple(object != nullptr ? object->object : set));
  // The positions of id() numbers and of objects created in the trace differ from run to run.
  for (Py_ssize_t i = 0; PyTuple_GET_SIZE(order.get()) > 1 && i < PyTuple_GET_SIZE(order.get()); ++i)
    if (tracer.keys().has_place_of_its_own(PyTuple_GET_ITEM(order.get(), i))) return nullptr;
  std::vector<ValuePtr> items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order.get()); ++i)
    items.push_back(value_of_key(tracer, PyTuple_GET_ITEM(order.get(), i)));
  auto iterator = make_value<IteratorValue>(
      IteratorKind::Set, std::vector<ValuePtr>{value, make_value<SequenceValue>(false, std::move(items))});
  iterator->stop = PySet_GET_SIZE(set.get());
  if (auto* made = as<SetValue>(value)) iterator->changes_seen = made->changes;
  iterator->creation_step = tracer.step_number();
  return iterator;
}

// The `value` of a StopIteration, which is the result of `yield from`.
ValuePtr value_of_stop(const ValuePtr& stop) {
  static PyObject* const kValue = PyUnicode_InternFromString("value");
  InstanceValue* made = exception_of(stop);
  if (const ValuePtr* value = made != nullptr ? find_attribute(made->attributes, kValue) : nullptr) return *value;
  graph_break(BreakReason::generator_call, "the value of a StopIteration that was made elsewhere");
}

std::optional<ValuePtr> next_of_user(Tracer& tracer, IteratorValue* iterator) {
  static PyObject* const kNext = PyUnicode_InternFromString("__next__");
  ValuePtr method = type_attribute(tracer, iterator->bases[0], kNext), stop;
  auto next = call_catching(tracer, method, {{iterator->bases[0]}, {}}, PyExc_StopIteration, &stop);
  if (!next) iterator->returned = value_of_stop(stop);
  return next;
}

// The next one of an iterator inside another, whose end is also that of the other, with its value.
std::optional<ValuePtr> next_inside(Tracer& tracer, IteratorValue* outer, const ValuePtr& base) {
  auto* inner = as<IteratorValue>(base);
  std::optional<ValuePtr> next = next_of(tracer, inner);
  if (!next) outer->returned = inner->returned;
  return next;
}

std::optional<ValuePtr> next_zipped(Tracer& tracer, IteratorValue* iterator) {
  std::vector<ValuePtr> items;
  for (const ValuePtr& base : iterator->bases) {
    std::optional<ValuePtr> item = next_inside(tracer, iterator, base);
    if (!item && iterator->strict) {
      iterator->returned = nullptr;
      // All must end together; otherwise it is an error.
      if (!items.empty()) raise_here();
      for (size_t i = 1; i < iterator->bases.size(); ++i)
        if (next_of(tracer, as<IteratorValue>(iterator->bases[i]))) raise_here();
    }
    if (!item) return std::nullopt;
    items.push_back(std::move(*item));
  }
  if (items.empty()) return std::nullopt;
  return make_value<SequenceValue>(false, std::move(items));
}

std::optional<ValuePtr> next_enumerated(Tracer& tracer, IteratorValue* iterator) {
  std::optional<ValuePtr> item = next_inside(tracer, iterator, iterator->bases[0]);
  if (!item) return std::nullopt;
  return make_value<SequenceValue>(false, std::vector<ValuePtr>{tracer.values().integer(iterator->index), *item});
}

std::optional<ValuePtr> next_mapped(Tracer& tracer, IteratorValue* iterator) {
  std::vector<ValuePtr> items;
  for (size_t i = 1; i < iterator->bases.size(); ++i) {
    std::optional<ValuePtr> item = next_inside(tracer, iterator, iterator->bases[i]);
    if (!item) return std::nullopt;
    items.push_back(std::move(*item));
  }
  return call_now(tracer, iterator->bases[0], {std::move(items), {}});
}

std::optional<ValuePtr> next_filtered(Tracer& tracer, IteratorValue* iterator) {
  bool by_truth = same_object(tracer, iterator->bases[0], tracer.values().none());
  while (std::optional<ValuePtr> item = next_inside(tracer, iterator, iterator->bases[1])) {
    std::optional<bool> truth =
        truth_by_methods(tracer, by_truth ? *item : call_now(tracer, iterator->bases[0], {{*item}, {}}));
    if (!truth) graph_break(BreakReason::unknown_truth, "in filter()");
    if (*truth) return item;
  }
  return std::nullopt;
}

// The iteration protocol by __getitem__ alone, from 0 until IndexError.
ValuePtr old_iterator_over(Tracer& tracer, const ValuePtr& value) {
  static PyObject* const kIter = PyUnicode_InternFromString("__iter__");
  static PyObject* const kGetitem = PyUnicode_InternFromString("__getitem__");
  if (!has_user_type(value) || type_attribute(tracer, value, kIter) || !user_method(tracer, value, kGetitem))
    return nullptr;
  return call_now(tracer, find_polyfill(reinterpret_cast<PyObject*>(&PySeqIter_Type)), {{value}, {}});
}

ValuePtr tensor_iterator(Tracer& tracer, const ValuePtr& value, TensorValue* tensor) {
  tracer.values().guard_tensor(tensor);
  if (tensor->spec.rank() == 0) raise_here();
  int64_t length = tensor->spec.sizes[0].value();
  if (tensor->family->iterates_by_index) {
    auto iterator = make_value<IteratorValue>(IteratorKind::Sequence, std::vector<ValuePtr>{value});
    iterator->stop = length;
    iterator->creation_step = tracer.step_number();
    return iterator;
  }
  std::vector<ValuePtr> rows;
  for (int64_t i = 0; i < length; ++i) {
    rows.push_back(index_tensor(tracer, tensor, tracer.values().integer(i)));
    // The library unbinds it.
    if (auto* row = as<TensorValue>(rows.back()); row->several_step == 0) row->several_step = tracer.instruction_step();
  }
  return make_value<IteratorValue>(IteratorKind::Sequence,
                                   std::vector<ValuePtr>{make_value<SequenceValue>(false, std::move(rows))});
}

}  // namespace

ValuePtr iterator_over(Tracer& tracer, const ValuePtr& value) {
  if (value->kind == ValueKind::Iterator) return value;
  if (const ValuePtr shown = behind_proxy(tracer, value); shown != value) return any_iterator_over(tracer, shown);
  if (ValuePtr plain = plain_value(tracer, value, {"__iter__"})) return iterator_over(tracer, plain);
  if (is_plain_sequence(tracer, value)) {
    tracer.values().exact_type(value);
    auto iterator = make_value<IteratorValue>(IteratorKind::Sequence, std::vector<ValuePtr>{value});
    iterator->creation_step = tracer.step_number();
    if (is_deque(value)) iterator->start = changes_of(value);
    return iterator;
  }
  if (is_text(value) && constant_of(tracer, value))
    return make_value<IteratorValue>(IteratorKind::Sequence, std::vector<ValuePtr>{value});
  if (type_of(value) == &PySet_Type || type_of(value) == &PyFrozenSet_Type) return set_iterator(tracer, value);
  if (is_dict(value) && !is_dict(tracer, value, {"__iter__"})) return nullptr;
  if (is_dict(value) || value->kind == ValueKind::DictView || value->kind == ValueKind::InstanceDict) {
    auto* view = as<DictViewValue>(value);
    auto entries = view != nullptr ? held_entries(tracer, view->dict) : entries_of(tracer, value);
    if (!entries) return nullptr;
    auto iterator = make_value<IteratorValue>(IteratorKind::Dict, std::vector<ValuePtr>{value});
    iterator->stop = static_cast<int64_t>(entries->size());
    iterator->start = erased_from(view != nullptr ? view->dict : value);
    iterator->creation_step = tracer.step_number();
    return iterator;
  }
  if (auto* object = as<ObjectValue>(value); object != nullptr && PyRange_Check(object->object.get()))
    return range_iterator(tracer, value);
  if (auto* tensor = as<TensorValue>(value)) return tensor_iterator(tracer, value, tensor);
  if (ValuePtr elements = iterated_part(tracer, value)) return any_iterator_over(tracer, elements);
  return nullptr;
}

void end_before_iteration(Tracer& tracer, const IteratorValue& iterator) {
  throw RestartSignal{
      iterator.creation_step,
      {BreakReason::unknown_iteration, "over what changes meanwhile", "", tracer.frames().user_stack(), ""},
      tracer.frames().innermost().policy};
}

ValuePtr any_iterator_over(Tracer& tracer, const ValuePtr& value) {
  static PyObject* const kIter = PyUnicode_InternFromString("__iter__");
  static PyObject* const kNext = PyUnicode_InternFromString("__next__");
  if (ValuePtr iterator = iterator_over(tracer, value)) return iterator;
  ValuePtr declared = has_user_type(value) ? type_attribute(tracer, value, kIter) : nullptr;
  if (declared && same_object(tracer, declared, tracer.values().none()))
    raise_known(tracer, PyExc_TypeError,
                {tracer.values().string(str_cat("'", type_of(value)->tp_name, "' object is not iterable"))});
  ValuePtr method = user_method(tracer, value, kIter);
  if (!method) return old_iterator_over(tracer, value);
  ValuePtr made = call_now(tracer, method, {{value}, {}});
  if (made->kind == ValueKind::Iterator) return made;
  if (!user_method(tracer, made, kNext)) return nullptr;
  return make_value<IteratorValue>(IteratorKind::User, std::vector<ValuePtr>{made});
}

std::optional<ValuePtr> next_of(Tracer& tracer, IteratorValue* iterator) {
  // Iterators over other iterators ask those again after the end; the others stay exhausted.
  IteratorKind kind = iterator->iterator_kind;
  bool asks_again = kind == IteratorKind::Map || kind == IteratorKind::Filter || kind == IteratorKind::Zip ||
                    kind == IteratorKind::Enumerate || kind == IteratorKind::User;
  // An iterator over a deque still notices changes of the deque.
  bool watches = kind == IteratorKind::Sequence && is_deque(iterator->bases[0]);
  if (iterator->exhausted && !asks_again && !watches) return std::nullopt;
  if (tracer.count_item() > config().walk_limit / kInstructionsOfItem)
    graph_break(BreakReason::walk_limit, "a long iteration");
  std::optional<ValuePtr> next;
  switch (iterator->iterator_kind) {
    case IteratorKind::Sequence:
      next = next_in_sequence(tracer, iterator, iterator->bases[0]);
      break;
    case IteratorKind::Reversed:
      next = next_reversed(tracer, iterator);
      break;
    case IteratorKind::Range:
      next = next_in_range(tracer, iterator);
      break;
    case IteratorKind::Dict:
      next = next_in_dict(tracer, iterator);
      break;
    case IteratorKind::Set:
      next = next_in_set(tracer, iterator);
      break;
    case IteratorKind::User:
      next = next_of_user(tracer, iterator);
      break;
    case IteratorKind::Zip:
      next = next_zipped(tracer, iterator);
      break;
    case IteratorKind::Map:
      next = next_mapped(tracer, iterator);
      break;
    case IteratorKind::Filter:
      next = next_filtered(tracer, iterator);
      break;
    case IteratorKind::Generator:
      next = resume(tracer, iterator, tracer.values().none());
      break;
    case IteratorKind::Enumerate:
      next = next_enumerated(tracer, iterator);
      break;
  }
  tracer.cannot_undo();
  if (next) {
    ++iterator->index;
  } else {
    iterator->exhausted = true;
  }
  return next;
}

ValuePtr measured_iterator_over(Tracer& tracer, const ValuePtr& value) {
  static PyObject* const kLen = PyUnicode_InternFromString("__len__");
  static PyObject* const kHint = PyUnicode_InternFromString("__length_hint__");
  bool has_length = has_user_type(value) && type_attribute(tracer, value, kLen);
  ValuePtr length = has_length ? user_method(tracer, value, kLen) : nullptr;
  if (has_length && !length) return nullptr;
  if (has_user_type(value) && type_attribute(tracer, value, kHint)) return nullptr;
  ValuePtr iterator = any_iterator_over(tracer, value);
  if (!iterator || !length) return iterator;
  // A TypeError means that the object has no length.
  std::optional<ValuePtr> number = call_catching(tracer, length, {{value}, {}}, PyExc_TypeError);
  if (number && int_of(tracer, *number).value_or(-1) < 0) raise_here();
  return iterator;
}

std::unique_ptr<std::vector<ValuePtr>> iterate(Tracer& tracer, const ValuePtr& value, LengthHint hint) {
  if (auto elements = elements_of(tracer, value)) return elements;
  if (ValuePtr plain = plain_value(tracer, value, {"__iter__", "__len__"})) return iterate(tracer, plain, hint);
  for (const char* name : {"__len__", "__length_hint__"}) {
    bool may_ask = hint == LengthHint::Unknown && has_user_type(value);
    if (may_ask && type_attribute(tracer, value, check(PyUnicode_InternFromString(name)).get())) return nullptr;
  }
  ValuePtr iterator =
      hint == LengthHint::Asked ? measured_iterator_over(tracer, value) : any_iterator_over(tracer, value);
  if (!iterator) return nullptr;
  auto elements = std::make_unique<std::vector<ValuePtr>>();
  while (std::optional<ValuePtr> next = next_of(tracer, as<IteratorValue>(iterator)))
    elements->push_back(std::move(*next));
  return elements;
}

}  // namespace md
