// Builtins that the walk knows for values that are not all constants.
#include "symbolic/pure_calls.h"
#include "symbolic/user_operators.h"
#include "tensor/tensor_modes.h"

namespace md {

namespace {

void require_count(Walk& walk, const CallArgs& args, size_t least, size_t most) {
  if (args.positional.size() < least || args.positional.size() > most || !args.keywords.empty()) walk.raise_here();
}

[[noreturn]] void break_on_builtin(Walk& walk, const char* name, const ValuePtr& value) {
  walk.graph_break(BreakReason::builtin_call, str_cat(name, "(", describe(value), ")"));
}

std::vector<ValuePtr> iterated(Walk& walk, const char* name, const ValuePtr& value) {
  auto items = walk.iterate(value);
  if (!items) break_on_builtin(walk, name, value);
  return std::move(*items);
}

ValuePtr call_len(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 1, 1);
  const ValuePtr& value = args.positional[0];
  if (auto* tensor = as<TensorValue>(value)) {
    walk.guard_tensor(tensor);
    if (tensor->spec.rank() == 0) walk.raise_here();
    return walk.integer(tensor->spec.sizes[0].value());
  }
  std::optional<int64_t> length = walk.length_of(value);
  if (!length) {
    static PyObject* const kLen = PyUnicode_InternFromString("__len__");
    bool user = value->kind == ValueKind::Instance ||
                (value->kind == ValueKind::Object && !PyType_Check(as<ObjectValue>(value)->object.get()) &&
                 PyType_HasFeature(as<ObjectValue>(value)->object.type(), Py_TPFLAGS_HEAPTYPE));
    ValuePtr method = user ? walk.type_attribute(value, kLen) : nullptr;
    if (method && walk.is_python_function(method)) {
      walk.inline_function(method, {{value}, {}}, ContinuationKind::PushLength, nullptr);
      return nullptr;
    }
  }
  if (!length) walk.graph_break(BreakReason::unknown_length, describe(value));
  return walk.integer(*length);
}

// isinstance and issubclass against exact classes whose metaclass keeps type's own check.
bool is_subtype_of(Walk& walk, PyTypeObject* type, const ValuePtr& classinfo) {
  if (auto elements = walk.elements_of(classinfo)) {
    for (const ValuePtr& element : *elements)
      if (is_subtype_of(walk, type, element)) return true;
    return false;
  }
  PyObject* known = walk.identity_of(classinfo);
  if (known == nullptr || !PyType_Check(known)) break_on_builtin(walk, "isinstance", classinfo);
  static PyObject* const kCheck = PyUnicode_InternFromString("__instancecheck__");
  if (_PyType_Lookup(Py_TYPE(known), kCheck) != _PyType_Lookup(&PyType_Type, kCheck))
    break_on_builtin(walk, "isinstance", classinfo);
  return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(known)) != 0;
}

ValuePtr call_issubclass(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 2, 2);
  BorrowedRef type = walk.identity_of(args.positional[0]);
  if (!type || !PyType_Check(type.get())) break_on_builtin(walk, "issubclass", args.positional[0]);
  std::vector<ValuePtr> classes{args.positional[1]};
  if (auto elements = walk.elements_of(args.positional[1])) classes = std::move(*elements);
  static PyObject* const kCheck = PyUnicode_InternFromString("__subclasscheck__");
  for (const ValuePtr& each : classes) {
    // A class may answer for its subclasses in a way of its own.
    auto* object = as<ObjectValue>(each);
    if (object == nullptr || !PyType_Check(object->object.get()) ||
        _PyType_Lookup(object->object.type(), kCheck) != _PyType_Lookup(&PyType_Type, kCheck))
      break_on_builtin(walk, "issubclass", each);
  }
  return walk.boolean(is_subtype_of(walk, reinterpret_cast<PyTypeObject*>(type.get()), args.positional[1]));
}

ValuePtr call_isinstance(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 2, 2);
  return walk.boolean(walk.is_instance(args.positional[0], args.positional[1]));
}

ValuePtr call_type(Walk& walk, const CallArgs& args) {
  if (args.positional.size() != 1 || !args.keywords.empty())
    walk.graph_break(BreakReason::class_definition, "type() with three arguments");
  return walk.type_value(args.positional[0]);
}

ValuePtr call_bool(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 0, 1);
  if (args.positional.empty()) return walk.boolean(false);
  if (ValuePtr truth = walk.computed(Computation::Truth, {args.positional[0]})) return truth;
  std::optional<bool> truth = walk.truth_of(args.positional[0]);
  if (!truth && walk.is_tensor(args.positional[0])) walk.graph_break(BreakReason::tensor_to_number, "bool()");
  if (!truth) walk.graph_break(BreakReason::unknown_truth, describe(args.positional[0]));
  return walk.boolean(*truth);
}

template <bool is_list>
ValuePtr call_sequence(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 0, 1);
  std::vector<ValuePtr> items;
  if (!args.positional.empty()) {
    // tuple(t) of an exact tuple is that tuple.
    if (!is_list && walk.is_exactly(args.positional[0], &PyTuple_Type)) return args.positional[0];
    items = iterated(walk, is_list ? "list" : "tuple", args.positional[0]);
  }
  return make_value<SequenceValue>(is_list, std::move(items));
}

ValuePtr call_dict(Walk& walk, const CallArgs& args) {
  auto dict = make_value<DictValue>();
  if (args.positional.size() > 1) walk.raise_here();
  if (!args.positional.empty()) {
    const ValuePtr& value = args.positional[0];
    if (auto entries = walk.entries_of(value)) {
      for (DictValue::Entry& entry : *entries) dict->set(entry.key.get(), entry.value);
    } else {
      for (const ValuePtr& pair : iterated(walk, "dict", value)) {
        auto items = walk.iterate(pair);
        Ref key = items && items->size() == 2 ? walk.constant_of((*items)[0]) : Ref();
        if (!key) walk.graph_break(BreakReason::unhashable_key, describe(pair));
        if (PyObject_Hash(key) == -1) walk.raise_here();
        dict->set(key.get(), (*items)[1]);
      }
    }
  }
  for (const auto& [name, value] : args.keywords) dict->set(name.get(), value);
  return dict;
}

ValuePtr call_set(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 0, 1);
  auto set = make_value<SetValue>();
  if (args.positional.empty()) return set;
  for (const ValuePtr& item : iterated(walk, "set", args.positional[0])) {
    Ref key = walk.constant_of(item);
    if (!key) walk.graph_break(BreakReason::unhashable_key, describe(item));
    if (PyObject_Hash(key) == -1) walk.raise_here();
    set->add(key.get());
  }
  return set;
}

ValuePtr call_iter(Walk& walk, const CallArgs& args) {
  if (args.positional.size() != 1) walk.graph_break(BreakReason::builtin_call, "iter() with a sentinel");
  ValuePtr iterator = iterator_for_builtin(walk, args.positional[0]);
  if (!iterator) walk.graph_break(BreakReason::unknown_iteration, describe(args.positional[0]));
  return iterator;
}

ValuePtr call_next(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 1, 2);
  auto* iterator = as<IteratorValue>(args.positional[0]);
  if (iterator == nullptr) walk.graph_break(BreakReason::foreign_next, describe(args.positional[0]));
  if (std::optional<ValuePtr> next = walk.next_of(iterator)) return *next;
  if (args.positional.size() == 2) return args.positional[1];
  bool has_value = iterator->returned && !walk.same_object(iterator->returned, walk.none());
  walk.raise_known(PyExc_StopIteration,
                   has_value ? std::vector<ValuePtr>{iterator->returned} : std::vector<ValuePtr>{});
}

ValuePtr call_enumerate(Walk& walk, const CallArgs& args) {
  int64_t start = 0;
  const ValuePtr* start_value = args.positional.size() > 1 ? &args.positional[1] : args.keyword("start");
  if (args.positional.empty() || args.keywords.size() > (args.positional.size() > 1 ? 0u : 1u)) walk.raise_here();
  if (start_value != nullptr) {
    std::optional<int64_t> known = walk.int_of(*start_value);
    if (!known) break_on_builtin(walk, "enumerate", *start_value);
    start = *known;
  }
  ValuePtr inner = iterator_for_builtin(walk, args.positional[0]);
  if (!inner) break_on_builtin(walk, "enumerate", args.positional[0]);
  auto iterator = make_value<IteratorValue>(IteratorKind::Enumerate, std::vector<ValuePtr>{inner});
  iterator->index = start;
  return iterator;
}

ValuePtr call_zip(Walk& walk, const CallArgs& args) {
  bool strict = false;
  if (const ValuePtr* value = args.keyword("strict"); value != nullptr && args.keywords.size() == 1) {
    std::optional<bool> truth = walk.truth_of(*value);
    if (!truth) break_on_builtin(walk, "zip", *value);
    strict = *truth;
  } else if (!args.keywords.empty()) {
    walk.raise_here();
  }
  std::vector<ValuePtr> bases;
  for (const ValuePtr& value : args.positional) {
    ValuePtr inner = iterator_for_builtin(walk, value);
    if (!inner) break_on_builtin(walk, "zip", value);
    bases.push_back(std::move(inner));
  }
  auto iterator = make_value<IteratorValue>(IteratorKind::Zip, std::move(bases));
  iterator->strict = strict;
  return iterator;
}

template <IteratorKind kind>
ValuePtr call_map_filter(Walk& walk, const CallArgs& args) {
  bool is_map = kind == IteratorKind::Map;
  if (args.positional.size() < 2 || (!is_map && args.positional.size() > 2) || !args.keywords.empty())
    walk.raise_here();
  std::vector<ValuePtr> bases{args.positional[0]};
  for (size_t i = 1; i < args.positional.size(); ++i) {
    ValuePtr inner = iterator_for_builtin(walk, args.positional[i]);
    if (!inner) break_on_builtin(walk, is_map ? "map" : "filter", args.positional[i]);
    bases.push_back(std::move(inner));
  }
  return make_value<IteratorValue>(kind, std::move(bases));
}

ValuePtr call_reversed(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 1, 1);
  ValuePtr value = args.positional[0];
  if (walk.elements_of(value)) return make_value<IteratorValue>(IteratorKind::Reversed, std::vector<ValuePtr>{value});
  if (type_of(value) != &PyRange_Type) break_on_builtin(walk, "reversed", value);
  auto items = iterated(walk, "reversed", value);
  auto tuple = make_value<SequenceValue>(false, std::move(items));
  return make_value<IteratorValue>(IteratorKind::Reversed, std::vector<ValuePtr>{tuple});
}

ValuePtr call_sum(Walk& walk, const CallArgs& args) {
  if (args.positional.empty() || args.positional.size() > 2) walk.raise_here();
  const ValuePtr* start = args.positional.size() > 1 ? &args.positional[1] : args.keyword("start");
  ValuePtr total = start != nullptr ? *start : walk.integer(0);
  for (const ValuePtr& item : iterated(walk, "sum", args.positional[0])) {
    if (walk.is_tensor(total) || walk.is_tensor(item)) {
      total = walk.add_values(total, item);
      continue;
    }
    Ref a = walk.constant_of(total), b = a ? walk.constant_of(item) : Ref();
    if (!b) break_on_builtin(walk, "sum", item);
    Ref folded = Ref::steal(PyNumber_Add(a, b));
    if (!folded) walk.raise_here();
    total = value_of_result(walk, folded);
    if (!total) break_on_builtin(walk, "sum", item);
  }
  return total;
}

template <bool stop_at>
ValuePtr call_any_all(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 1, 1);
  ValuePtr iterator = iterator_for_builtin(walk, args.positional[0]);
  if (!iterator) break_on_builtin(walk, stop_at ? "any" : "all", args.positional[0]);
  while (std::optional<ValuePtr> item = walk.next_of(as<IteratorValue>(iterator))) {
    std::optional<bool> truth = walk.truth_of(*item);
    if (!truth) walk.graph_break(BreakReason::unknown_truth, describe(*item));
    if (*truth == stop_at) return walk.boolean(stop_at);
  }
  return walk.boolean(!stop_at);
}

ValuePtr call_getattr(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 2, 3);
  Ref name = walk.constant_of(args.positional[1]);
  if (!name || !PyUnicode_CheckExact(name.get())) break_on_builtin(walk, "getattr", args.positional[0]);
  if (args.positional.size() == 3) {
    ValuePtr found = walk.optional_attribute(args.positional[0], name.get());
    return found ? found : args.positional[2];
  }
  size_t depth = walk.frame_depth();
  ValuePtr value = walk.attribute(args.positional[0], name.get());
  // A getter that was inlined pushes its own result.
  return walk.frame_depth() > depth ? nullptr : value;
}

ValuePtr call_hasattr(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 2, 2);
  Ref name = walk.constant_of(args.positional[1]);
  if (!name || !PyUnicode_CheckExact(name.get())) break_on_builtin(walk, "hasattr", args.positional[0]);
  return walk.boolean(static_cast<bool>(walk.optional_attribute(args.positional[0], name.get())));
}

ValuePtr call_callable(Walk& walk, const CallArgs& args) {
  require_count(walk, args, 1, 1);
  PyTypeObject* type = walk.exact_type(args.positional[0]);
  return walk.boolean(type->tp_call != nullptr);
}

ValuePtr call_print(Walk& walk, const CallArgs&) { walk.graph_break(BreakReason::print_call, "print()"); }

template <BreakReason reason>
ValuePtr break_always(Walk& walk, const CallArgs&) {
  walk.graph_break(reason);
}

struct BuiltinRow {
  const char* name;
  CallHandler handler;
};
constexpr BuiltinRow kBuiltins[] = {{"len", call_len},
                                    {"isinstance", call_isinstance},
                                    {"issubclass", call_issubclass},
                                    {"type", call_type},
                                    {"bool", call_bool},
                                    {"list", call_sequence<true>},
                                    {"tuple", call_sequence<false>},
                                    {"dict", call_dict},
                                    {"set", call_set},
                                    {"iter", call_iter},
                                    {"next", call_next},
                                    {"enumerate", call_enumerate},
                                    {"zip", call_zip},
                                    {"reversed", call_reversed},
                                    {"sum", call_sum},
                                    {"any", call_any_all<true>},
                                    {"all", call_any_all<false>},
                                    {"map", call_map_filter<IteratorKind::Map>},
                                    {"filter", call_map_filter<IteratorKind::Filter>},
                                    {"hasattr", call_hasattr},
                                    {"getattr", call_getattr},
                                    {"callable", call_callable},
                                    {"print", call_print},
                                    {"locals", break_always<BreakReason::frame_inspection>},
                                    {"globals", break_always<BreakReason::frame_inspection>},
                                    {"vars", break_always<BreakReason::frame_inspection>},
                                    {"dir", break_always<BreakReason::frame_inspection>},
                                    {"eval", break_always<BreakReason::frame_inspection>},
                                    {"exec", break_always<BreakReason::frame_inspection>}};

}  // namespace

bool Walk::is_instance(const ValuePtr& value, const ValuePtr& classinfo) {
  // An object may claim another __class__ only through a class attribute of that name.
  PyTypeObject* type = exact_type(value);
  static PyObject* const kClass = PyUnicode_InternFromString("__class__");
  if (_PyType_Lookup(type, kClass) != _PyType_Lookup(&PyBaseObject_Type, kClass))
    break_on_builtin(*this, "isinstance", value);
  return is_subtype_of(*this, type, classinfo);
}

void register_builtin_calls() {
  Ref builtins = check(PyImport_ImportModule("builtins"));
  for (const BuiltinRow& row : kBuiltins)
    register_call(check(PyObject_GetAttrString(builtins, row.name)).get(), row.handler);
}

}  // namespace md
