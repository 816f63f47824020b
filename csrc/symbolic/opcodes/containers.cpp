// Building, filling and unpacking containers; creating functions.
#include <algorithm>

#include "cpython/object_protocol.h"
#include "cpython/text.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/builtins/pure_calls.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/facts/cells.h"
#include "symbolic/facts/identities.h"
#include "symbolic/facts/mapping_proxies.h"
#include "symbolic/facts/name_spaces.h"
#include "symbolic/facts/user_keys.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

template <bool is_list>
void build_sequence(Tracer& tracer, const Instruction& at) {
  tracer.frames().push(make_value<SequenceValue>(is_list, tracer.frames().pop_many(at.arg)));
}

void build_set(Tracer& tracer, const Instruction& at) {
  auto set = make_value<SetValue>();
  set->creation_step = tracer.step_number();
  for (int i = at.arg; i >= 1; --i)
    set_change(tracer, EffectKind::SetAdd, set, key_in(tracer, set, tracer.frames().peek(i)).get());
  tracer.frames().pop_many(at.arg);
  tracer.frames().push(set);
}

void build_map(Tracer& tracer, const Instruction& at) {
  auto dict = make_value<DictValue>();
  dict->displayed = true;
  for (int i = 2 * at.arg; i >= 2; i -= 2)
    dict_set(tracer, dict, key_in(tracer, dict, tracer.frames().peek(i)).get(), tracer.frames().peek(i - 1));
  tracer.frames().pop_many(2 * at.arg);
  tracer.frames().push(dict);
}

void build_const_key_map(Tracer& tracer, const Instruction& at) {
  Ref keys = constant_of(tracer, tracer.frames().pop());
  auto dict = make_value<DictValue>();
  std::vector<ValuePtr> values = tracer.frames().pop_many(at.arg);
  for (int i = 0; i < at.arg; ++i) dict->set(PyTuple_GET_ITEM(keys.get(), i), values[i]);
  tracer.frames().push(dict);
}

void build_string(Tracer& tracer, const Instruction& at) {
  std::vector<ValuePtr> parts;
  parts.reserve(static_cast<size_t>(at.arg));
  for (int i = 0; i < at.arg; ++i) parts.push_back(tracer.frames().peek(at.arg - i));
  if (ValuePtr joined = computed(tracer, ScalarOp::Join, parts)) {
    tracer.frames().pop_many(at.arg);
    return tracer.frames().push(std::move(joined));
  }
  Ref pieces = check(PyTuple_New(at.arg));
  for (int i = 0; i < at.arg; ++i) {
    Ref piece = constant_of(tracer, tracer.frames().peek(at.arg - i));
    if (!piece) graph_break(BreakReason::unknown_format, describe(tracer.frames().peek(at.arg - i)));
    PyTuple_SET_ITEM(pieces.get(), i, piece.release());
  }
  Ref empty = check(PyUnicode_FromString(""));
  Ref text = check(PyUnicode_Join(empty, pieces));
  tracer.frames().pop_many(at.arg);
  tracer.frames().push(tracer.values().constant(text));
}

void build_slice(Tracer& tracer, const Instruction& at) {
  ValuePtr step = at.arg == 3 ? tracer.frames().pop() : tracer.values().none();
  ValuePtr stop = tracer.frames().pop();
  ValuePtr start = tracer.frames().pop();
  tracer.frames().push(make_value<SliceValue>(std::move(start), std::move(stop), std::move(step)));
}

// The container that a comprehension or display fills; one that entered through a slot is left to the driver.
template <typename T>
T* container_at(Tracer& tracer, int distance) {
  T* container = as<T>(tracer.frames().peek(distance + 1));
  if (container == nullptr)
    graph_break(BreakReason::store_subscript, "into a " + describe(tracer.frames().peek(distance + 1)));
  return container;
}

void list_append(Tracer& tracer, const Instruction& at) {
  ValuePtr list = tracer.frames().peek(at.arg + 1);
  if (!list_append(tracer, list, tracer.frames().peek()))
    graph_break(BreakReason::store_subscript, "into a " + describe(list));
  tracer.frames().pop();
}

void list_extend(Tracer& tracer, const Instruction& at) {
  ValuePtr list = tracer.frames().peek(at.arg + 1);
  if (!tracer.values().is_exactly(list, &PyList_Type))
    graph_break(BreakReason::store_subscript, "into a " + describe(list));
  if (!list_extend(tracer, list, tracer.frames().peek()))
    graph_break(BreakReason::unknown_iteration, describe(tracer.frames().peek()));
  tracer.frames().pop();
}

void set_add(Tracer& tracer, const Instruction& at) {
  container_at<SetValue>(tracer, at.arg);
  const ValuePtr set = tracer.frames().peek(at.arg + 1);
  set_change(tracer, EffectKind::SetAdd, set, key_in(tracer, set, tracer.frames().peek()).get());
  tracer.frames().pop();
}

void set_update(Tracer& tracer, const Instruction& at) {
  auto* set = container_at<SetValue>(tracer, at.arg);
  Ref keys = check(PyList_New(0));
  if (Ref other = table_to_merge(tracer, tracer.frames().peek())) {
    // Python merges tables, which determines the order.
    keep_all_apart(tracer, set->set.get(), other.get());
    check_status(pv_set_update(set->to_change(), other));
  } else {
    auto items = iterate(tracer, tracer.frames().peek(), LengthHint::NotAsked);
    if (!items) graph_break(BreakReason::unknown_iteration, describe(tracer.frames().peek()));
    for (const ValuePtr& item : *items) check_status(PyList_Append(keys, key_of(tracer, item, /*alone=*/false)));
  }
  keep_all_apart(tracer, keys.get(), keys.get());
  keep_all_apart(tracer, set->set.get(), keys.get());
  tracer.frames().pop();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i) set->add(PyList_GET_ITEM(keys.get(), i));
}

void map_add(Tracer& tracer, const Instruction& at) {
  ValuePtr dict = tracer.frames().peek(at.arg + 2);
  Ref key = key_in(tracer, dict, tracer.frames().peek(2));
  if (!dict_set(tracer, dict, key.get(), tracer.frames().peek()))
    graph_break(BreakReason::store_subscript, "into a " + describe(dict));
  tracer.frames().pop_many(2);
}

template <bool merge>
void dict_update(Tracer& tracer, const Instruction& at) {
  ValuePtr dict = tracer.frames().peek(at.arg + 1);
  bool repeats = false;
  auto entries = entries_of(tracer, copied_mapping(tracer, tracer.frames().peek(), &repeats));
  if (!entries) graph_break(BreakReason::unknown_container, describe(tracer.frames().peek()));
  if (!is_dict(tracer, dict, {})) graph_break(BreakReason::store_subscript, "into a " + describe(dict));
  if (merge && repeats) raise_here();
  if (merge)
    for (const DictValue::Entry& entry : *entries)
      if (!PyUnicode_Check(entry.key.get()) || dict_item(tracer, dict, entry.key.get())) raise_here();
  for (DictValue::Entry& entry : *entries)
    if (!dict_set(tracer, dict, entry.key.get(), entry.value))
      graph_break(BreakReason::store_subscript, "into a " + describe(dict));
  tracer.frames().pop();
}

void list_to_tuple(Tracer& tracer, const Instruction&) {
  auto items = tracer.values().is_exactly(tracer.frames().peek(), &PyList_Type)
                   ? elements_of(tracer, tracer.frames().peek())
                   : nullptr;
  if (!items) graph_break(BreakReason::unknown_container, describe(tracer.frames().peek()));
  ValuePtr tuple = make_value<SequenceValue>(false, std::move(*items));
  tracer.frames().pop();
  tracer.frames().push(std::move(tuple));
}

std::vector<ValuePtr> unpacked(Tracer& tracer, size_t most) {
  ValuePtr value = tracer.frames().peek();
  bool is_user = !as<IteratorValue>(value) && !iterator_over(tracer, value);
  if (is_user)
    if (ValuePtr made = any_iterator_over(tracer, value)) value = made;
  if (auto* iterator = as<IteratorValue>(value)) {
    std::vector<ValuePtr> items;
    while (items.size() < most) {
      std::optional<ValuePtr> item = next_of(tracer, iterator);
      if (!item) break;
      items.push_back(std::move(*item));
    }
    return items;
  }
  auto items = iterate(tracer, value);
  if (!items) graph_break(BreakReason::unpack_unknown, describe(value));
  return std::move(*items);
}

void unpack_sequence(Tracer& tracer, const Instruction& at) {
  std::vector<ValuePtr> items = unpacked(tracer, static_cast<size_t>(at.arg) + 1);
  if (static_cast<int>(items.size()) != at.arg) raise_here();
  tracer.frames().pop();
  for (auto item = items.rbegin(); item != items.rend(); ++item) tracer.frames().push(*item);
}

// a, *b = value: takes one element for each of the first names, the rest by list(), which calls __iter__ and the length
// hint of the iterator.
std::vector<ValuePtr> unpacked_with_rest(Tracer& tracer, size_t first) {
  const ValuePtr& value = tracer.frames().peek();
  bool may_be_user = has_user_type(value) && !as<IteratorValue>(value) && !elements_of(tracer, value);
  ValuePtr made = may_be_user && !iterator_over(tracer, value) ? any_iterator_over(tracer, value) : nullptr;
  auto* iterator = as<IteratorValue>(made);
  if (iterator == nullptr || iterator->iterator_kind != IteratorKind::User) return unpacked(tracer, SIZE_MAX);
  std::vector<ValuePtr> items;
  while (items.size() < first) {
    std::optional<ValuePtr> item = next_of(tracer, iterator);
    if (!item) raise_here();
    items.push_back(std::move(*item));
  }
  auto rest = iterate(tracer, iterator->bases[0]);
  if (!rest) graph_break(BreakReason::unpack_unknown, describe(iterator->bases[0]));
  items.insert(items.end(), rest->begin(), rest->end());
  return items;
}

void unpack_ex(Tracer& tracer, const Instruction& at) {
  std::vector<ValuePtr> items = unpacked_with_rest(tracer, static_cast<size_t>(at.arg));
  int count = static_cast<int>(items.size());
  if (count < at.arg + at.arg2) raise_here();
  tracer.frames().pop();
  for (int i = count - 1; i >= count - at.arg2; --i) tracer.frames().push(items[i]);
  std::vector<ValuePtr> middle(items.begin() + at.arg, items.end() - at.arg2);
  tracer.frames().push(make_value<SequenceValue>(true, std::move(middle)));
  for (int i = at.arg - 1; i >= 0; --i) tracer.frames().push(items[i]);
}

// Turns an annotations tuple (name, value ...) into the dict that the function shows.
ValuePtr annotations_of(Tracer& tracer, const ValuePtr& value) {
  auto elements = elements_of(tracer, value);
  if (!elements) return value;
  auto dict = make_value<DictValue>();
  for (size_t i = 0; i + 1 < elements->size(); i += 2)
    dict->set(constant_of(tracer, (*elements)[i]).get(), (*elements)[i + 1]);
  return dict;
}

void set_function_part(Tracer& tracer, FunctionValue* function, int flag, ValuePtr value) {
  if (flag == 1) {
    function->defaults = std::move(value);
  } else if (flag == 2) {
    function->kw_defaults = std::move(value);
  } else if (flag == 4) {
    function->annotations = annotations_of(tracer, value);
  } else if (flag == 16) {
    Ref name = check(pv_annotate_name(reinterpret_cast<PyCodeObject*>(function->code.get())->co_qualname));
    if (auto* maker = as<FunctionValue>(value); maker != nullptr && name.get() != Py_None)
      maker->names.emplace_back(check(PyUnicode_InternFromString("__qualname__")), tracer.values().constant(name));
    function->names.emplace_back(check(PyUnicode_InternFromString("__annotate__")), std::move(value));
  } else if (flag == 8) {
    auto cells = elements_of(tracer, value);
    MD_ASSERT(cells, "a closure is not a tuple of cells");
    // A region that begins between loading the cells and this instruction finds them on the stack as ordinary objects.
    for (ValuePtr& cell : *cells)
      if (auto* object = as<ObjectValue>(cell)) cell = cell_at(tracer, object->source, object->object);
    function->closure = std::move(*cells);
  }
}

// A new function reads these from its globals when it is created at the exit, before pending writes are applied.
void require_written_globals(Tracer& tracer) {
  static PyObject* const kNames[] = {PyUnicode_InternFromString("__name__"),
                                     PyUnicode_InternFromString("__builtins__")};
  if (!tracer.effects().any_dict_written()) return;
  ValuePtr globals = globals_dict(tracer, ValuePtr(globals_function(tracer)));
  for (PyObject* name : kNames)
    if (written_item(globals, name))
      graph_break(BreakReason::object_creation, str_cat("a function whose ", text_of(name), " was written"));
}

void make_function(Tracer& tracer, const Instruction& at) {
  require_written_globals(tracer);
  auto function = make_value<FunctionValue>();
  ValuePtr popped = tracer.frames().pop();
  auto* code = as<ObjectValue>(popped);
  MD_ASSERT(code != nullptr, "a function is created without a code object");
  function->code = code->object;
  function->globals_from = tracer.frames().innermost().function;
  for (int flag : {8, 4, 2, 1})
    if ((at.arg & flag) != 0) set_function_part(tracer, function.get(), flag, tracer.frames().pop());
  tracer.frames().push(function);
}

void set_function_attribute(Tracer& tracer, const Instruction& at) {
  ValuePtr function = tracer.frames().pop();
  ValuePtr value = tracer.frames().pop();
  auto* made = as<FunctionValue>(function);
  if (made == nullptr) graph_break(BreakReason::unsupported_opcode, "SET_FUNCTION_ATTRIBUTE");
  set_function_part(tracer, made, at.arg, std::move(value));
  tracer.frames().push(std::move(function));
}

const OpcodeRegistration registration{{Opcode::BUILD_TUPLE, build_sequence<false>},
                                      {Opcode::BUILD_LIST, build_sequence<true>},
                                      {Opcode::BUILD_SET, build_set},
                                      {Opcode::BUILD_MAP, build_map},
                                      {Opcode::BUILD_CONST_KEY_MAP, build_const_key_map},
                                      {Opcode::BUILD_STRING, build_string},
                                      {Opcode::BUILD_SLICE, build_slice},
                                      {Opcode::LIST_APPEND, list_append},
                                      {Opcode::LIST_EXTEND, list_extend},
                                      {Opcode::SET_ADD, set_add},
                                      {Opcode::SET_UPDATE, set_update},
                                      {Opcode::MAP_ADD, map_add},
                                      {Opcode::DICT_UPDATE, dict_update<false>},
                                      {Opcode::DICT_MERGE, dict_update<true>},
                                      {Opcode::LIST_TO_TUPLE, list_to_tuple},
                                      {Opcode::UNPACK_SEQUENCE, unpack_sequence},
                                      {Opcode::UNPACK_EX, unpack_ex},
                                      {Opcode::MAKE_FUNCTION, make_function},
                                      {Opcode::SET_FUNCTION_ATTRIBUTE, set_function_attribute}};

}  // namespace

}  // namespace md
