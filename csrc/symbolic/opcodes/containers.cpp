// Containers built, filled and unpacked; functions made.
#include <algorithm>

#include "cpython/object_protocol.h"
#include "cpython/text.h"
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
void build_sequence(Walk& walk, const Instruction& at) {
  walk.frames().push(make_value<SequenceValue>(is_list, walk.frames().pop_many(at.arg)));
}

void build_set(Walk& walk, const Instruction& at) {
  auto set = make_value<SetValue>();
  set->creation_step = walk.step_number();
  for (int i = at.arg; i >= 1; --i)
    set_change(walk, EffectKind::SetAdd, set, key_in(walk, set, walk.frames().peek(i)).get());
  walk.frames().pop_many(at.arg);
  walk.frames().push(set);
}

void build_map(Walk& walk, const Instruction& at) {
  auto dict = make_value<DictValue>();
  dict->displayed = true;
  for (int i = 2 * at.arg; i >= 2; i -= 2)
    dict_set(walk, dict, key_in(walk, dict, walk.frames().peek(i)).get(), walk.frames().peek(i - 1));
  walk.frames().pop_many(2 * at.arg);
  walk.frames().push(dict);
}

void build_const_key_map(Walk& walk, const Instruction& at) {
  Ref keys = constant_of(walk, walk.frames().pop());
  auto dict = make_value<DictValue>();
  std::vector<ValuePtr> values = walk.frames().pop_many(at.arg);
  for (int i = 0; i < at.arg; ++i) dict->set(PyTuple_GET_ITEM(keys.get(), i), values[i]);
  walk.frames().push(dict);
}

void build_string(Walk& walk, const Instruction& at) {
  std::vector<ValuePtr> parts;
  for (int i = 0; i < at.arg; ++i) parts.push_back(walk.frames().peek(at.arg - i));
  if (ValuePtr joined = computed(walk, Computation::Join, parts)) {
    walk.frames().pop_many(at.arg);
    return walk.frames().push(std::move(joined));
  }
  Ref pieces = check(PyTuple_New(at.arg));
  for (int i = 0; i < at.arg; ++i) {
    Ref piece = constant_of(walk, walk.frames().peek(at.arg - i));
    if (!piece) graph_break(BreakReason::unknown_format, describe(walk.frames().peek(at.arg - i)));
    PyTuple_SET_ITEM(pieces.get(), i, piece.release());
  }
  Ref empty = check(PyUnicode_FromString(""));
  Ref text = check(PyUnicode_Join(empty, pieces));
  walk.frames().pop_many(at.arg);
  walk.frames().push(walk.values().constant(text));
}

void build_slice(Walk& walk, const Instruction& at) {
  ValuePtr step = at.arg == 3 ? walk.frames().pop() : walk.values().none();
  ValuePtr stop = walk.frames().pop();
  ValuePtr start = walk.frames().pop();
  walk.frames().push(make_value<SliceValue>(std::move(start), std::move(stop), std::move(step)));
}

// The container that a comprehension or a display is filling; one that entered through a slot is the driver's.
template <typename T>
T* container_at(Walk& walk, int distance) {
  T* container = as<T>(walk.frames().peek(distance + 1));
  if (container == nullptr)
    graph_break(BreakReason::store_subscript, "into a " + describe(walk.frames().peek(distance + 1)));
  return container;
}

void list_append(Walk& walk, const Instruction& at) {
  ValuePtr list = walk.frames().peek(at.arg + 1);
  if (!list_append(walk, list, walk.frames().peek()))
    graph_break(BreakReason::store_subscript, "into a " + describe(list));
  walk.frames().pop();
}

void list_extend(Walk& walk, const Instruction& at) {
  ValuePtr list = walk.frames().peek(at.arg + 1);
  if (!walk.values().is_exactly(list, &PyList_Type))
    graph_break(BreakReason::store_subscript, "into a " + describe(list));
  if (!list_extend(walk, list, walk.frames().peek()))
    graph_break(BreakReason::unknown_iteration, describe(walk.frames().peek()));
  walk.frames().pop();
}

void set_add(Walk& walk, const Instruction& at) {
  container_at<SetValue>(walk, at.arg);
  const ValuePtr set = walk.frames().peek(at.arg + 1);
  set_change(walk, EffectKind::SetAdd, set, key_in(walk, set, walk.frames().peek()).get());
  walk.frames().pop();
}

void set_update(Walk& walk, const Instruction& at) {
  auto* set = container_at<SetValue>(walk, at.arg);
  Ref keys = check(PyList_New(0));
  if (Ref other = set_to_merge(walk, walk.frames().peek())) {
    // Python merges two sets by their tables, which decides the order.
    keep_all_apart(walk, set->set.get(), other.get());
    Ref update = check(PyObject_GetAttrString(set->to_change(), "update"));
    check(PyObject_CallOneArg(update, other));
  } else {
    auto items = iterate(walk, walk.frames().peek(), LengthHint::NotAsked);
    if (!items) graph_break(BreakReason::unknown_iteration, describe(walk.frames().peek()));
    for (const ValuePtr& item : *items) check_status(PyList_Append(keys, key_of(walk, item, /*alone=*/false)));
  }
  keep_all_apart(walk, keys.get(), keys.get());
  keep_all_apart(walk, set->set.get(), keys.get());
  walk.frames().pop();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i) set->add(PyList_GET_ITEM(keys.get(), i));
}

void map_add(Walk& walk, const Instruction& at) {
  ValuePtr dict = walk.frames().peek(at.arg + 2);
  Ref key = key_in(walk, dict, walk.frames().peek(2));
  if (!dict_set(walk, dict, key.get(), walk.frames().peek()))
    graph_break(BreakReason::store_subscript, "into a " + describe(dict));
  walk.frames().pop_many(2);
}

template <bool merge>
void dict_update(Walk& walk, const Instruction& at) {
  ValuePtr dict = walk.frames().peek(at.arg + 1);
  auto entries = entries_of(walk, copied_mapping(walk, walk.frames().peek()));
  if (!entries) graph_break(BreakReason::unknown_container, describe(walk.frames().peek()));
  if (!is_dict(walk, dict, {})) graph_break(BreakReason::store_subscript, "into a " + describe(dict));
  if (merge)
    for (const DictValue::Entry& entry : *entries)
      if (!PyUnicode_Check(entry.key.get()) || dict_item(walk, dict, entry.key.get())) raise_here();
  for (DictValue::Entry& entry : *entries)
    if (!dict_set(walk, dict, entry.key.get(), entry.value))
      graph_break(BreakReason::store_subscript, "into a " + describe(dict));
  walk.frames().pop();
}

void list_to_tuple(Walk& walk, const Instruction&) {
  auto items =
      walk.values().is_exactly(walk.frames().peek(), &PyList_Type) ? elements_of(walk, walk.frames().peek()) : nullptr;
  if (!items) graph_break(BreakReason::unknown_container, describe(walk.frames().peek()));
  ValuePtr tuple = make_value<SequenceValue>(false, std::move(*items));
  walk.frames().pop();
  walk.frames().push(std::move(tuple));
}

std::vector<ValuePtr> unpacked(Walk& walk, size_t most) {
  ValuePtr value = walk.frames().peek();
  bool is_user = !as<IteratorValue>(value) && !iterator_over(walk, value);
  if (is_user)
    if (ValuePtr made = any_iterator_over(walk, value)) value = made;
  if (auto* iterator = as<IteratorValue>(value)) {
    std::vector<ValuePtr> items;
    while (items.size() < most) {
      std::optional<ValuePtr> item = next_of(walk, iterator);
      if (!item) break;
      items.push_back(std::move(*item));
    }
    return items;
  }
  auto items = iterate(walk, value);
  if (!items) graph_break(BreakReason::unpack_unknown, describe(value));
  return std::move(*items);
}

void unpack_sequence(Walk& walk, const Instruction& at) {
  std::vector<ValuePtr> items = unpacked(walk, static_cast<size_t>(at.arg) + 1);
  if (static_cast<int>(items.size()) != at.arg) raise_here();
  walk.frames().pop();
  for (auto item = items.rbegin(); item != items.rend(); ++item) walk.frames().push(*item);
}

// a, *b = value: the first names take one each, list() the rest, which asks an iterator for itself and its length.
std::vector<ValuePtr> unpacked_with_rest(Walk& walk, size_t first) {
  const ValuePtr& value = walk.frames().peek();
  bool may_be_user = has_user_type(value) && !as<IteratorValue>(value) && !elements_of(walk, value);
  ValuePtr made = may_be_user && !iterator_over(walk, value) ? any_iterator_over(walk, value) : nullptr;
  auto* iterator = as<IteratorValue>(made);
  if (iterator == nullptr || iterator->iterator_kind != IteratorKind::User) return unpacked(walk, SIZE_MAX);
  std::vector<ValuePtr> items;
  while (items.size() < first) {
    std::optional<ValuePtr> item = next_of(walk, iterator);
    if (!item) raise_here();
    items.push_back(std::move(*item));
  }
  auto rest = iterate(walk, iterator->bases[0]);
  if (!rest) graph_break(BreakReason::unpack_unknown, describe(iterator->bases[0]));
  items.insert(items.end(), rest->begin(), rest->end());
  return items;
}

void unpack_ex(Walk& walk, const Instruction& at) {
  std::vector<ValuePtr> items = unpacked_with_rest(walk, static_cast<size_t>(at.arg));
  int count = static_cast<int>(items.size());
  if (count < at.arg + at.arg2) raise_here();
  walk.frames().pop();
  for (int i = count - 1; i >= count - at.arg2; --i) walk.frames().push(items[i]);
  std::vector<ValuePtr> middle(items.begin() + at.arg, items.end() - at.arg2);
  walk.frames().push(make_value<SequenceValue>(true, std::move(middle)));
  for (int i = at.arg - 1; i >= 0; --i) walk.frames().push(items[i]);
}

// An annotations tuple (name, value ...) becomes the dict that the function would show.
ValuePtr annotations_of(Walk& walk, const ValuePtr& value) {
  auto elements = elements_of(walk, value);
  if (!elements) return value;
  auto dict = make_value<DictValue>();
  for (size_t i = 0; i + 1 < elements->size(); i += 2)
    dict->set(constant_of(walk, (*elements)[i]).get(), (*elements)[i + 1]);
  return dict;
}

void set_function_part(Walk& walk, FunctionValue* function, int flag, ValuePtr value) {
  if (flag == 1) function->defaults = std::move(value);
  if (flag == 2) function->kw_defaults = std::move(value);
  if (flag == 4) function->annotations = annotations_of(walk, value);
  if (flag == 16) {
    Ref name = check(pv_annotate_name(reinterpret_cast<PyCodeObject*>(function->code.get())->co_qualname));
    if (auto* maker = as<FunctionValue>(value); maker != nullptr && name.get() != Py_None)
      maker->names.emplace_back(check(PyUnicode_InternFromString("__qualname__")), walk.values().constant(name));
    function->names.emplace_back(check(PyUnicode_InternFromString("__annotate__")), std::move(value));
  }
  if (flag == 8) {
    auto cells = elements_of(walk, value);
    MD_ASSERT(cells, "a closure is not a tuple of cells");
    // A region that begins between their load and here finds the cells on the stack, objects like others there.
    for (ValuePtr& cell : *cells)
      if (auto* object = as<ObjectValue>(cell)) cell = cell_at(walk, object->source, object->object);
    function->closure = std::move(*cells);
  }
}

// A function takes these out of its globals when it is made, and is made before the region's writes are applied.
void require_written_globals(Walk& walk) {
  static PyObject* const kNames[] = {PyUnicode_InternFromString("__name__"),
                                     PyUnicode_InternFromString("__builtins__")};
  if (!walk.effects().any_dict_written()) return;
  ValuePtr globals = globals_dict(walk, ValuePtr(globals_function(walk)));
  for (PyObject* name : kNames)
    if (written_item(globals, name))
      graph_break(BreakReason::object_creation, str_cat("a function whose ", text_of(name), " was written"));
}

void make_function(Walk& walk, const Instruction& at) {
  require_written_globals(walk);
  auto function = make_value<FunctionValue>();
  auto* code = as<ObjectValue>(walk.frames().pop());
  MD_ASSERT(code != nullptr, "a function is made of no code object");
  function->code = code->object;
  function->globals_from = walk.frames().innermost().function;
  for (int flag : {8, 4, 2, 1})
    if ((at.arg & flag) != 0) set_function_part(walk, function.get(), flag, walk.frames().pop());
  walk.frames().push(function);
}

void set_function_attribute(Walk& walk, const Instruction& at) {
  ValuePtr function = walk.frames().pop();
  ValuePtr value = walk.frames().pop();
  auto* made = as<FunctionValue>(function);
  if (made == nullptr) graph_break(BreakReason::unsupported_opcode, "SET_FUNCTION_ATTRIBUTE");
  set_function_part(walk, made, at.arg, std::move(value));
  walk.frames().push(std::move(function));
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
