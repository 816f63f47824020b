// Sets: methods and operators. They are applied to a real set owned by the trace.
#include "symbolic/builtins/set_methods.h"

#include "cpython/set_table.h"
#include "guards/constants.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/builtins/pure_calls.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/identities.h"
#include "symbolic/facts/user_keys.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

[[noreturn]] void break_on_set(const ValuePtr& value) {
  graph_break(BreakReason::unknown_container, "a set operation on a " + describe(value));
}

Ref contents_of(Tracer& tracer, const ValuePtr& value) {
  Ref contents = set_contents(tracer, value);
  if (!contents) break_on_set(value);
  return contents;
}

// A table that the trace does not modify later.
Ref own_table(const Ref& table) { return PySet_CheckExact(table.get()) ? check(pv_set_copy(table, 1)) : table; }

// The operand of a method: a table, or the keys from any iterable. Never a set that the trace modifies later.
Ref operand(Tracer& tracer, const ValuePtr& value) {
  if (Ref table = table_to_merge(tracer, value)) return own_table(table);
  Ref keys = check(PyList_New(0));
  auto items = iterate(tracer, value, LengthHint::NotAsked);
  if (!items) break_on_set(value);
  for (const ValuePtr& item : *items) check_status(PyList_Append(keys, key_of(tracer, item, /*alone=*/false)));
  return keys;
}

ValuePtr made_set(Tracer& tracer, Ref set) {
  auto made = make_value<SetValue>(std::move(set));
  made->creation_step = tracer.step_number();
  return made;
}

// A constant, or with elements that are known keys.
ValuePtr frozen_value(Tracer& tracer, Ref set) {
  return is_guardable_constant(set.get()) ? tracer.values().constant(set) : made_set(tracer, std::move(set));
}

// The value of a result; its elements are constants and known keys.
ValuePtr result_of(Tracer& tracer, const Ref& result) {
  if (!result) raise_current(tracer);
  if (PySet_CheckExact(result.get())) return made_set(tracer, Ref::share(result.get()));
  if (PyFrozenSet_CheckExact(result.get())) return frozen_value(tracer, Ref::share(result.get()));
  if (ValuePtr value = value_of_result(tracer, result)) return value;
  graph_break(BreakReason::unknown_container, "a set operation");
}

void require_self(Tracer& tracer, const CallArgs& args, const char* name) {
  if (args.positional.empty() || !args.keywords.empty()) raise_here();
  if (!set_contents(tracer, args.positional[0])) graph_break(BreakReason::unknown_container, str_cat("set.", name));
}

// Methods without side effects. The result has the type of `self`.
template <const char* name>
ValuePtr call_reading(Tracer& tracer, const CallArgs& args) {
  require_self(tracer, args, name);
  Ref self = table_to_merge(tracer, args.positional[0]);
  if (!self) break_on_set(args.positional[0]);
  // A frozenset is its own copy.
  if (std::string_view(name) == "copy" && args.positional.size() == 1 &&
      type_of(args.positional[0]) == &PyFrozenSet_Type)
    return args.positional[0];
  std::vector<Ref> held{self, check(PyUnicode_InternFromString(name))};
  std::vector<PyObject*> plain{self};
  // Python looks whether the operand is the set itself.
  for (size_t i = 1; i < args.positional.size(); ++i) {
    bool is_self = args.positional[i].get() == args.positional[0].get();
    plain.push_back(held.emplace_back(is_self ? self : operand(tracer, args.positional[i])).get());
  }
  for (size_t i = 0; i < plain.size(); ++i)
    for (size_t j = i == 0 ? 1 : i; j < plain.size(); ++j) keep_all_apart(tracer, plain[i], plain[j]);
  return result_of(tracer, Ref::steal(PyObject_VectorcallMethod(held[1], plain.data(), plain.size(), nullptr)));
}

// add and discard
template <EffectKind kind>
ValuePtr call_with_item(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 2 || !args.keywords.empty()) raise_here();
  if (type_of(args.positional[1]) == &PySet_Type) break_on_set(args.positional[1]);
  if (!set_change(tracer, kind, args.positional[0], key_in(tracer, args.positional[0], args.positional[1]).get()))
    break_on_set(args.positional[0]);
  return tracer.values().none();
}

ValuePtr call_remove(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 2 || !args.keywords.empty()) raise_here();
  if (type_of(args.positional[1]) == &PySet_Type) break_on_set(args.positional[1]);
  Ref key = key_in(tracer, args.positional[0], args.positional[1]);
  Ref contents = contents_of(tracer, args.positional[0]);
  keep_apart_in_set(tracer, key, contents);
  int found = PySet_Contains(contents, key);
  check_status(found);
  if (found == 0) raise_known(tracer, PyExc_KeyError, {args.positional[1]});
  set_change(tracer, EffectKind::SetDiscard, args.positional[0], key.get());
  return tracer.values().none();
}

ValuePtr call_clear(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 1 || !args.keywords.empty()) raise_here();
  if (!set_change(tracer, EffectKind::SetClear, args.positional[0], nullptr)) break_on_set(args.positional[0]);
  return tracer.values().none();
}

// The popped element depends on the set's history: supported only for sets created in the trace.
ValuePtr call_pop(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 1 || !args.keywords.empty()) raise_here();
  auto* set = as<SetValue>(args.positional[0]);
  if (set == nullptr) break_on_set(args.positional[0]);
  if (!iterator_over(tracer, args.positional[0])) break_on_set(args.positional[0]);
  if (PySet_GET_SIZE(set->set.get()) == 0)
    raise_known(tracer, PyExc_KeyError, {tracer.values().string("pop from an empty set")});
  return value_of_key(tracer, check(PySet_Pop(set->to_change())).get());
}

// An operand with the value that an effect holds of it.
struct Merged {
  Ref table;
  ValuePtr value;
};

Merged merged(Tracer& tracer, Ref table) {
  if (PyAnySet_Check(table.get())) return {table, frozen_value(tracer, table)};
  auto dict = make_value<DictValue>();
  PyObject *key = nullptr, *none = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(table, &at, &key, &none) != 0;) dict->set(key, tracer.values().none());
  return {table, dict};
}

void add_each(Tracer& tracer, const ValuePtr& set, const Ref& items) {
  Ref keys = check(PySequence_Tuple(items));
  keep_all_apart(tracer, keys, keys);
  keep_all_apart(tracer, contents_of(tracer, set), keys);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i)
    set_change(tracer, EffectKind::SetAdd, set, PyTuple_GET_ITEM(keys.get(), i));
}

ValuePtr call_update(Tracer& tracer, const CallArgs& args) {
  require_self(tracer, args, "update");
  // All arguments are read before the first change.
  std::vector<Merged> operands;
  for (size_t i = 1; i < args.positional.size(); ++i) {
    // An iterator notices what an earlier argument changes.
    if (i > 1 && as<IteratorValue>(args.positional[i]) != nullptr) break_on_set(args.positional[0]);
    if (args.positional[i].get() == args.positional[0].get()) continue;
    Ref table = operand(tracer, args.positional[i]);
    operands.push_back(PyList_CheckExact(table.get()) ? Merged{table, nullptr} : merged(tracer, table));
  }
  for (const Merged& each : operands) {
    if (!each.value) {
      add_each(tracer, args.positional[0], each.table);
    } else if (!set_merge(tracer, EffectKind::SetUpdate, args.positional[0], each.value, each.table)) {
      break_on_set(args.positional[0]);
    }
  }
  return tracer.values().none();
}

constexpr char kUnion[] = "union", kIntersection[] = "intersection", kDifference[] = "difference",
               kSymmetric[] = "symmetric_difference", kSubset[] = "issubset", kSuperset[] = "issuperset",
               kDisjoint[] = "isdisjoint", kCopy[] = "copy";

// isdisjoint and issuperset: of an iterable that is no set they take elements until one decides.
template <const char* name, bool decides>
ValuePtr call_deciding(Tracer& tracer, const CallArgs& args) {
  require_self(tracer, args, name);
  if (args.positional.size() != 2 || table_to_merge(tracer, args.positional[1]))
    return call_reading<name>(tracer, args);
  Ref self = contents_of(tracer, args.positional[0]);
  ValuePtr iterator = any_iterator_over(tracer, args.positional[1]);
  if (!iterator) break_on_set(args.positional[1]);
  while (std::optional<ValuePtr> item = next_of(tracer, as<IteratorValue>(iterator))) {
    Ref key = key_of(tracer, *item, /*alone=*/false);
    keep_apart_in_set(tracer, key, self);
    if ((PySet_Contains(self, key) == 1) == decides) return tracer.values().boolean(false);
  }
  return tracer.values().boolean(true);
}

struct MethodRow {
  const char* name;
  CallHandler handler;
  bool changes;
};
const MethodRow kMethods[] = {{kUnion, call_reading<kUnion>, false},
                              {kIntersection, call_reading<kIntersection>, false},
                              {kDifference, call_reading<kDifference>, false},
                              {kSymmetric, call_reading<kSymmetric>, false},
                              {kSubset, call_reading<kSubset>, false},
                              {kSuperset, call_deciding<kSuperset, false>, false},
                              {kDisjoint, call_deciding<kDisjoint, true>, false},
                              {kCopy, call_reading<kCopy>, false},
                              {"add", call_with_item<EffectKind::SetAdd>, true},
                              {"discard", call_with_item<EffectKind::SetDiscard>, true},
                              {"remove", call_remove, true},
                              {"pop", call_pop, true},
                              {"clear", call_clear, true},
                              {"update", call_update, true}};

// The set; for a keys view, the keys view of an equal real dict.
Ref operator_side(Tracer& tracer, const ValuePtr& value) {
  auto* view = as<DictViewValue>(value);
  if (view == nullptr) return table_to_merge(tracer, value);
  auto entries = view->what == 0 ? entries_of(tracer, view->dict) : nullptr;
  if (!entries) return nullptr;
  Ref dict = check(PyDict_New());
  for (const DictValue::Entry& entry : *entries) check_status(PyDict_SetItem(dict, entry.key, Py_None));
  return check(PyObject_CallMethod(dict, "keys", nullptr));
}

bool is_set_like(const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  return type == &PySet_Type || type == &PyFrozenSet_Type || value->kind == ValueKind::DictView;
}

}  // namespace

ValuePtr combine_sets(Tracer& tracer, const ValuePtr& left, const ValuePtr& right, bool in_place,
                      const std::function<Ref(PyObject*, PyObject*)>& apply) {
  if (!is_set_like(left) || !is_set_like(right)) return nullptr;
  if (in_place && type_of(left) == &PySet_Type) return nullptr;
  Ref a = operator_side(tracer, left), b = left.get() == right.get() ? a : operator_side(tracer, right);
  if (!a || !b) return nullptr;
  keep_all_apart(tracer, a, b);
  return result_of(tracer, apply(a, b));
}

bool change_set_in_place(Tracer& tracer, BinaryCode op, const ValuePtr& left, const ValuePtr& right) {
  if (op != BinaryCode::Or && op != BinaryCode::Subtract) return false;
  bool is_set = type_of(right) == &PySet_Type || type_of(right) == &PyFrozenSet_Type;
  if (type_of(left) != &PySet_Type || !is_set) return false;
  bool adds = op == BinaryCode::Or;
  if (left.get() == right.get())
    return adds ? set_contents(tracer, left) != nullptr : set_change(tracer, EffectKind::SetClear, left, nullptr);
  Ref own = set_contents(tracer, left), table = own ? table_to_merge(tracer, right) : Ref();
  if (!table) return false;
  Merged other = merged(tracer, own_table(table));
  return set_merge(tracer, adds ? EffectKind::SetUpdate : EffectKind::SetSubtract, left, other.value, other.table);
}

namespace {

ValuePtr call_frozenset(Tracer& tracer, const CallArgs& args) {
  require_count(args, 0, 1);
  if (args.positional.empty()) return tracer.values().constant(check(PyFrozenSet_New(nullptr)));
  if (type_of(args.positional[0]) == &PyFrozenSet_Type) return args.positional[0];
  Ref contents = operand(tracer, args.positional[0]);
  keep_all_apart(tracer, contents, contents);
  return frozen_value(tracer, check(PyFrozenSet_New(contents)));
}

void add_set_methods() {
  register_call(reinterpret_cast<PyObject*>(&PyFrozenSet_Type), call_frozenset);
  for (PyTypeObject* type : {&PySet_Type, &PyFrozenSet_Type})
    for (const MethodRow& row : kMethods)
      if (!row.changes || type == &PySet_Type)
        register_call(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), row.name)).get(), row.handler);
}

const CallRegistration call_registration(add_set_methods);

}  // namespace

}  // namespace md
