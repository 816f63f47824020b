// Builtins whose arguments need not all be constants.
#include "symbolic/builtins/builtin_calls.h"

#include "cpython/imports.h"
#include "guards/guard_set.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/builtins/pure_calls.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/identities.h"
#include "symbolic/facts/mapping_proxies.h"
#include "symbolic/facts/name_spaces.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/tensors/tensor_callables.h"
#include "symbolic/tensors/tensor_ops.h"
#include "symbolic/trace/registry.h"
#include "symbolic/values/no_warnings.h"

namespace md {

namespace {

ValuePtr call_len(Tracer& tracer, const CallArgs& args) {
  require_count(args, 1, 1);
  const ValuePtr& value = args.positional[0];
  if (auto* tensor = as<TensorValue>(value)) {
    tracer.values().guard_tensor(tensor);
    if (tensor->spec.rank() == 0) raise_here();
    return size_value(tracer, tensor->spec.sizes[0]);
  }
  std::optional<int64_t> length = length_of(tracer, value);
  if (!length) {
    static PyObject* const kLen = PyUnicode_InternFromString("__len__");
    if (ValuePtr method = user_method(tracer, value, kLen)) {
      inline_function(tracer, method, {{value}, {}}, ContinuationKind::PushLength, nullptr);
      return nullptr;
    }
  }
  if (!length) graph_break(BreakReason::unknown_length, describe(value));
  return tracer.values().integer(*length);
}

// hash(x): the result of a __hash__ in Python, reduced as Python does; or the hash of a key.
ValuePtr call_hash(Tracer& tracer, const CallArgs& args) {
  require_count(args, 1, 1);
  static PyObject* const kHash = PyUnicode_InternFromString("__hash__");
  const ValuePtr value = number_or_itself(tracer, args.positional[0]);
  if (value->kind == ValueKind::Identity) graph_break(BreakReason::builtin_call, "hash() of a number of id()");
  ValuePtr method = is_user_object(value) ? user_method(tracer, value, kHash) : nullptr;
  if (!method)
    return tracer.values().constant(
        check(PyLong_FromSsize_t(PyObject_Hash(key_of(tracer, plain_or_itself(tracer, value, {"__hash__"}))))));
  return tracer.values().constant(hash_by_method(tracer, value, method));
}

ValuePtr call_type(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() == 3 && args.keywords.empty()) {
    auto entries = entries_of(tracer, args.positional[2]);
    if (!entries) graph_break(BreakReason::class_definition, "type() with names that are not known");
    auto names = make_value<DictValue>();
    names->entries = std::move(*entries);
    return make_class(tracer, tracer.values().constant(reinterpret_cast<PyObject*>(&PyType_Type)), args.positional[0],
                      args.positional[1], names);
  }
  if (args.positional.size() != 1 || !args.keywords.empty())
    graph_break(BreakReason::class_definition, "type() with these arguments");
  return type_value(tracer, args.positional[0]);
}

ValuePtr call_bool(Tracer& tracer, const CallArgs& args) {
  require_count(args, 0, 1);
  if (args.positional.empty()) return tracer.values().boolean(false);
  if (ValuePtr truth = computed(tracer, ScalarOp::Truth, {args.positional[0]})) return truth;
  if (auto* tensor = as<TensorValue>(args.positional[0])) {
    static PyObject* const type = reinterpret_cast<PyObject*>(&PyBool_Type);
    if (ValuePtr truth = converted_to_number(tracer, type, tensor)) return truth;
  }
  std::optional<bool> truth = truth_by_methods(tracer, args.positional[0]);
  if (!truth && is_tensor(args.positional[0])) graph_break(BreakReason::tensor_to_number, "bool()");
  if (!truth) graph_break(BreakReason::unknown_truth, describe(args.positional[0]));
  return tracer.values().boolean(*truth);
}

template <bool is_list>
ValuePtr call_sequence(Tracer& tracer, const CallArgs& args) {
  require_count(args, 0, 1);
  std::vector<ValuePtr> items;
  if (!args.positional.empty()) {
    // tuple(t) of an exact tuple is that tuple.
    if (!is_list && tracer.values().is_exactly(args.positional[0], &PyTuple_Type)) return args.positional[0];
    LengthHint hint = is_list ? LengthHint::Asked : kTupleHint;
    items = iterated(tracer, is_list ? "list" : "tuple", args.positional[0], hint);
  }
  return make_value<SequenceValue>(is_list, std::move(items));
}

Handle<DictValue> made_dict(Tracer& tracer, const CallArgs& args) {
  auto dict = make_value<DictValue>();
  if (args.positional.size() > 1) raise_here();
  if (!args.positional.empty()) {
    const ValuePtr value = copied_mapping(tracer, args.positional[0]);
    if (auto entries = entries_of(tracer, value)) {
      for (DictValue::Entry& entry : *entries) dict->set(entry.key.get(), entry.value);
    } else {
      for (const ValuePtr& pair : iterated(tracer, "dict", value, LengthHint::NotAsked)) {
        auto items = iterate(tracer, pair);
        if (!items || items->size() != 2) graph_break(BreakReason::unknown_container, describe(pair));
        Ref key = key_of(tracer, (*items)[0], /*alone=*/false);
        dict_set(tracer, dict, key.get(), (*items)[1]);
      }
    }
  }
  for (const auto& [name, value] : args.keywords) dict->set(name.get(), value);
  return dict;
}

ValuePtr call_dict(Tracer& tracer, const CallArgs& args) { return made_dict(tracer, args); }

ValuePtr call_ordered_dict(Tracer& tracer, const CallArgs& args) {
  if (!args.positional.empty()) require_own_items(tracer, args.positional[0]);
  Handle<DictValue> dict = made_dict(tracer, args);
  dict->type = tracer.values().constant(reinterpret_cast<PyObject*>(&PyODict_Type));
  return dict;
}

// defaultdict(factory, ...)
ValuePtr call_default_dict(Tracer& tracer, const CallArgs& args) {
  static PyObject* const type = imported("collections", "defaultdict").release();
  CallArgs rest = args;
  ValuePtr factory = tracer.values().none();
  if (!args.positional.empty()) {
    factory = args.positional[0];
    rest.positional.erase(rest.positional.begin());
    bool known = same_object(tracer, factory, tracer.values().none()) || is_callable(tracer, factory);
    if (!known) raise_here();
  }
  Handle<DictValue> dict = made_dict(tracer, rest);
  dict->type = tracer.values().constant(type);
  dict->factory = factory;
  return dict;
}

ValuePtr call_set(Tracer& tracer, const CallArgs& args) {
  require_count(args, 0, 1);
  auto set = make_value<SetValue>();
  set->creation_step = tracer.step_number();
  if (args.positional.empty()) return set;
  if (Ref table = table_to_merge(tracer, args.positional[0])) {
    set->set = check(PySet_New(table));
    return set;
  }
  for (const ValuePtr& item : iterated(tracer, "set", args.positional[0], LengthHint::NotAsked)) {
    set_change(tracer, EffectKind::SetAdd, set, key_of(tracer, item, /*alone=*/false).get());
  }
  return set;
}

ValuePtr call_getattr(Tracer& tracer, const CallArgs& args) {
  require_count(args, 2, 3);
  Ref name = constant_of(tracer, args.positional[1]);
  if (!name || !PyUnicode_CheckExact(name.get())) break_on_builtin("getattr", args.positional[0]);
  if (args.positional.size() == 3) {
    ValuePtr found = optional_attribute(tracer, args.positional[0], name.get());
    return found ? found : args.positional[2];
  }
  size_t depth = tracer.frames().depth();
  ValuePtr value = attribute(tracer, args.positional[0], name.get());
  // An inlined getter pushes its own result.
  return tracer.frames().depth() > depth ? nullptr : value;
}

ValuePtr call_hasattr(Tracer& tracer, const CallArgs& args) {
  require_count(args, 2, 2);
  Ref name = constant_of(tracer, args.positional[1]);
  if (!name || !PyUnicode_CheckExact(name.get())) break_on_builtin("hasattr", args.positional[0]);
  return tracer.values().boolean(static_cast<bool>(optional_attribute(tracer, args.positional[0], name.get())));
}

ValuePtr call_callable(Tracer& tracer, const CallArgs& args) {
  require_count(args, 1, 1);
  return tracer.values().boolean(is_callable(tracer, args.positional[0]));
}

ValuePtr call_abs(Tracer& tracer, const CallArgs& args) {
  static PyObject* const kAbs = PyUnicode_InternFromString("__abs__");
  static PyObject* const kFunction = imported("builtins", "abs").release();
  static const OpRow* const op = find_op("abs");
  require_count(args, 1, 1);
  const ValuePtr& value = args.positional[0];
  if (is_tensor(value)) return call_op(tracer, *op, args, CallForm::Function);
  if (ValuePtr method = user_method(tracer, value, kAbs)) {
    inline_function(tracer, method, {{value}, {}}, ContinuationKind::Push, nullptr);
    return nullptr;
  }
  ValuePtr result = fold_pure_call(tracer, kFunction, {{plain_or_itself(tracer, value, {"__abs__"})}, {}});
  if (!result) break_on_builtin("abs", value);
  return result;
}

ValuePtr call_pow(Tracer& tracer, const CallArgs& args) {
  static PyObject* const kFunction = imported("builtins", "pow").release();
  static const OpRow* const op = find_op("pow");
  bool of_tensors = args.positional.size() == 2 && args.keywords.empty() &&
                    (is_tensor(args.positional[0]) || is_tensor(args.positional[1]));
  if (of_tensors) return call_op(tracer, *op, args, CallForm::Operator);
  ValuePtr result = fold_pure_call(tracer, kFunction, args);
  if (!result) break_on_builtin("pow", args.positional.empty() ? tracer.values().none() : args.positional[0]);
  return result;
}

// ast.literal_eval, if the program has loaded the module and not replaced the function; null otherwise.
Ref literal_reader() {
  BorrowedRef names = loaded_names("ast", "literal_eval");
  PyObject* function = names ? PyDict_GetItemString(names, "literal_eval") : nullptr;
  return function != nullptr && is_function_of("ast", names, function) ? Ref::share(function) : Ref();
}

// Whether reading the text as a literal may warn: of an escape that is none, or of a keyword that follows a number at
// once.
bool may_warn(std::string_view text) {
  constexpr std::string_view kEscapes = "\\'\"abfnrtvx\n", kInNumbers = "abcdefABCDEFxXoOjJ_";
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  bool in_number = false, in_name = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
      if (i == text.size() || kEscapes.find(text[i]) == std::string_view::npos) return true;
    }
    in_name = !in_number && (is_letter(text[i]) || (in_name && is_digit(text[i])));
    in_number = !in_name && (is_digit(text[i]) || (in_number && is_letter(text[i])));
    if (in_number && is_letter(text[i]) && kInNumbers.find(text[i]) == std::string_view::npos) return true;
  }
  return false;
}

// eval() of the text of a literal, which reads no names.
ValuePtr call_eval(Tracer& tracer, const CallArgs& args) {
  Ref text = args.positional.size() == 1 && args.keywords.empty() ? constant_of(tracer, args.positional[0]) : Ref();
  if (!text || !PyUnicode_CheckExact(text.get())) graph_break(BreakReason::frame_inspection, "eval");
  Py_ssize_t length = 0;
  const char* letters = PyUnicode_AsUTF8AndSize(text, &length);
  if (letters == nullptr) PyErr_Clear();
  if (letters == nullptr || may_warn({letters, static_cast<size_t>(length)}))
    graph_break(BreakReason::frame_inspection, "eval");
  Ref reader = literal_reader();
  if (!reader) graph_break(BreakReason::frame_inspection, "eval");
  NoWarnings silence;
  Ref literal = Ref::steal(PyObject_CallOneArg(reader, text));
  ValuePtr value = literal && !silence.met() ? value_of_result(tracer, literal) : nullptr;
  PyErr_Clear();
  if (!value) graph_break(BreakReason::frame_inspection, "eval");
  return value;
}

template <BreakReason reason>
ValuePtr break_always(Tracer&, const CallArgs&) {
  graph_break(reason);
}

ValuePtr call_recursion_limit(Tracer& tracer, const CallArgs& args) {
  require_count(args, 0, 0);
  tracer.guards().recursion_limit();
  return tracer.values().integer(Py_GetRecursionLimit());
}

constexpr BuiltinRow kBuiltins[] = {{"len", call_len},
                                    {"type", call_type},
                                    {"hash", call_hash},
                                    {"bool", call_bool},
                                    {"list", call_sequence<true>},
                                    {"tuple", call_sequence<false>},
                                    {"dict", call_dict},
                                    {"set", call_set},
                                    {"hasattr", call_hasattr},
                                    {"getattr", call_getattr},
                                    {"callable", call_callable},
                                    {"abs", call_abs},
                                    {"pow", call_pow},
                                    {"globals", call_globals},
                                    {"eval", call_eval},
                                    {"exec", break_always<BreakReason::frame_inspection>}};

}  // namespace

void break_on_builtin(const char* name, const ValuePtr& value) {
  graph_break(BreakReason::builtin_call, str_cat(name, "(", describe(value), ")"));
}

std::vector<ValuePtr> iterated(Tracer& tracer, const char* name, const ValuePtr& value, LengthHint hint) {
  auto items = iterate(tracer, value, hint);
  if (!items) break_on_builtin(name, value);
  return std::move(*items);
}

void register_builtin_rows(std::span<const BuiltinRow> rows) {
  for (const BuiltinRow& row : rows) register_call(imported("builtins", row.name).get(), row.handler);
}

namespace {

void add_builtin_calls() {
  register_call(imported("operator", "abs").get(), call_abs);
  register_call(imported("sys", "getrecursionlimit").get(), call_recursion_limit);
  register_call(imported("collections", "OrderedDict").get(), call_ordered_dict);
  register_call(imported("collections", "defaultdict").get(), call_default_dict);
  register_builtin_rows(kBuiltins);
}

const CallRegistration call_registration(add_builtin_calls);

}  // namespace

}  // namespace md
