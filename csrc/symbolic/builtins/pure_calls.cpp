#include "symbolic/builtins/pure_calls.h"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "cpython/imports.h"
#include "cpython/text.h"
#include "frontends/device_object.h"
#include "frontends/size_object.h"
#include "guards/constants.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/codec_calls.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/builtins/late_pure_calls.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/identities.h"
#include "symbolic/facts/text_templates.h"
#include "symbolic/facts/texts.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/trace/loops.h"
#include "symbolic/trace/registry.h"
#include "symbolic/values/no_warnings.h"
#include "symbolic/values/number_types.h"

namespace md {

namespace {

std::unordered_set<PyObject*>& pure_calls() {
  static auto* calls = new std::unordered_set<PyObject*>();  // owns references; never freed
  return *calls;
}

void add(BorrowedRef callable) {
  if (callable && pure_calls().insert(callable).second) Py_INCREF(callable.get());
}

// All public methods of an immutable built-in type, except those whose results would be mutable or huge.
void add_methods(PyTypeObject* type, std::initializer_list<const char*> except) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  Ref dict = check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dict__"));
  Ref items = check(PyMapping_Items(dict));
  for (position = 0; position < PyList_GET_SIZE(items.get()); ++position) {
    key = PyTuple_GET_ITEM(PyList_GET_ITEM(items.get(), position), 0);
    value = PyTuple_GET_ITEM(PyList_GET_ITEM(items.get(), position), 1);
    bool excluded = text_of(key).starts_with('_');
    for (const char* name : except) excluded = excluded || PyUnicode_CompareWithASCIIString(key, name) == 0;
    if (!excluded && Py_IS_TYPE(value, &PyMethodDescr_Type)) add(value);
  }
}

// Returns true if the result may be a text or number far larger than the arguments.
bool may_be_large(const std::vector<Ref>& args) {
  constexpr long kLargest = 10000;
  for (const Ref& arg : args) {
    if (PyLong_CheckExact(arg.get())) {
      int overflow = 0;
      long long number = PyLong_AsLongLongAndOverflow(arg, &overflow);
      if (overflow != 0 || number > kLargest) return true;
    }
    if (!PyUnicode_CheckExact(arg.get())) continue;
    // Accept widths of at most four digits in a format.
    int digits = 0;
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(arg.get()); ++i) {
      Py_UCS4 letter = PyUnicode_READ_CHAR(arg.get(), i);
      digits = letter >= '0' && letter <= '9' ? digits + 1 : 0;
      if (digits > 4) return true;
    }
  }
  return false;
}

// The subset of pure_calls() (which owns the references) whose results may be much larger than the arguments.
std::unordered_set<PyObject*>& growing_calls() {
  static auto* calls = new std::unordered_set<PyObject*>();
  return *calls;
}

void add_growing(BorrowedRef owner, std::initializer_list<const char*> names) {
  register_pure_attributes(owner, names);
  for (const char* name : names) growing_calls().insert(check(PyObject_GetAttrString(owner, name)).get());
}

void add_functions(const char* module, std::initializer_list<const char*> names) {
  for (const char* name : names) add(imported_if_there(module, name).get());
}

// All functions of a module except those named.
void add_all_functions(const char* module, std::initializer_list<const char*> except) {
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(imported_names(module), &at, &name, &value);) {
    bool excluded = std::ranges::any_of(
        except, [&](const char* other) { return PyUnicode_CompareWithASCIIString(name, other) == 0; });
    if (PyCFunction_Check(value) && !excluded) add(value);
  }
}

void add_class_methods(PyTypeObject* type, std::initializer_list<const char*> names) {
  Ref dict = check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dict__"));
  for (const char* name : names) add(check(PyMapping_GetItemString(dict, name)).get());
}

// A number that the trace does not know, of a kind that each run computes before the region.
bool varies(Tracer& tracer, const ValuePtr& value) {
  bool may_vary = value->kind == ValueKind::Object || value->kind == ValueKind::Computed;
  return may_vary && is_dynamic(value) && !tracer.shapes().is_unbacked(value);
}

// divmod(a, b) of numbers is (a // b, a % b).
ValuePtr computed_divmod(Tracer& tracer, const CallArgs& args) {
  ValuePtr quotient = computed(tracer, ScalarOp::FloorDivide, args.positional);
  ValuePtr rest = quotient ? computed(tracer, ScalarOp::Remainder, args.positional) : nullptr;
  if (!rest) return nullptr;
  return make_value<SequenceValue>(false, std::vector<ValuePtr>{quotient, rest});
}

// Functions of numbers that return numbers not much larger than their arguments.
ValuePtr computed_by_function(Tracer& tracer, BorrowedRef callable, const CallArgs& args) {
  bool is_function = PyCFunction_CheckExact(callable.get()) || Py_IS_TYPE(callable.get(), &PyMethodDescr_Type);
  if (!is_function || growing_calls().contains(callable) || !std::ranges::all_of(args.positional, is_real_number))
    return nullptr;
  std::vector<ValuePtr> operands{tracer.values().constant(callable)};
  operands.insert(operands.end(), args.positional.begin(), args.positional.end());
  return computed(tracer, ScalarOp::Call, std::move(operands));
}

// int(n), str(n), math.sqrt(n) ... of a dynamic number. Null: not one of these.
ValuePtr computed_call(Tracer& tracer, BorrowedRef callable, const CallArgs& args) {
  struct Row {
    Ref function;
    ScalarOp scalar_op;
    size_t count;
  };
  static const Row kRows[] = {{Ref::share(reinterpret_cast<PyObject*>(&PyLong_Type)), ScalarOp::Int, 1},
                              {Ref::share(reinterpret_cast<PyObject*>(&PyFloat_Type)), ScalarOp::Float, 1},
                              {Ref::share(reinterpret_cast<PyObject*>(&PyUnicode_Type)), ScalarOp::Str, 1},
                              {imported("builtins", "repr"), ScalarOp::Repr, 1},
                              {imported("builtins", "ascii"), ScalarOp::Ascii, 1},
                              {imported("builtins", "abs"), ScalarOp::Absolute, 1},
                              {imported("builtins", "pow"), ScalarOp::Power, 2}};
  static PyObject *const kDivmod = imported("builtins", "divmod").release(), *const kIndex =
                                                                                 imported("operator", "index")
                                                                                     .release();
  if (!args.keywords.empty()) return nullptr;
  for (const Row& row : kRows)
    if (callable.get() == row.function.get() && args.positional.size() == row.count)
      return computed(tracer, row.scalar_op, args.positional);
  if (std::ranges::none_of(args.positional, [&](const ValuePtr& value) { return varies(tracer, value); }))
    return nullptr;
  if (callable.get() == kIndex && args.positional.size() == 1 && type_of(args.positional[0]) == &PyLong_Type) {
    tracer.values().exact_type(args.positional[0]);
    return args.positional[0];
  }
  if (callable.get() == kDivmod && args.positional.size() == 2) return computed_divmod(tracer, args);
  return computed_by_function(tracer, callable, args);
}

bool is_one_of(BorrowedRef callable, std::span<PyObject* const> callables) {
  return std::ranges::find(callables, callable.get()) != callables.end();
}

// Functions that treat an int, float or str subclass as the equal plain value: methods of the built-in classes that
// neither keep it nor call its __str__ or __format__, and conversions whose hooks are checked.
bool takes_plain_value(BorrowedRef callable) {
  PyObject* text = reinterpret_cast<PyObject*>(&PyUnicode_Type);
  static PyObject *const kFormat = check(PyObject_GetAttrString(text, "format")).release(),
                         *const kFormatMap = check(PyObject_GetAttrString(text, "format_map")).release();
  if (Py_IS_TYPE(callable.get(), &PyMethodDescr_Type)) return callable.get() != kFormat && callable.get() != kFormatMap;
  static PyObject* const kCallables[] = {
      imported("builtins", "int").release(),   imported("builtins", "float").release(),
      imported("builtins", "range").release(), imported("builtins", "chr").release(),
      imported("builtins", "bin").release(),   imported("builtins", "hex").release(),
      imported("builtins", "oct").release(),   imported("builtins", "ord").release()};
  return is_one_of(callable, kCallables);
}

// Functions that iterate over their argument. Any other receives the iterator itself and takes nothing from it.
bool goes_over_argument(BorrowedRef callable) {
  static PyObject* const kCallables[] = {
      imported("builtins", "max").release(),
      imported("builtins", "min").release(),
      imported("builtins", "bytes").release(),
      imported("math", "fsum").release(),
      imported("math", "prod").release(),
      check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyUnicode_Type), "join")).release(),
      check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBytes_Type), "join")).release()};
  return is_one_of(callable, kCallables);
}

// A dict that is only read (str.format_map, %). Null: not all of it is constant.
Ref dict_of_constants(Tracer& tracer, const ValuePtr& value) {
  auto entries = entries_of(tracer, value);
  if (!entries) return nullptr;
  Ref dict = check(PyDict_New());
  for (const DictValue::Entry& entry : *entries) {
    Ref item = constant_of(tracer, entry.value);
    if (!item) return nullptr;
    check_status(PyDict_SetItem(dict, entry.key, item));
  }
  return dict;
}

}  // namespace

void register_pure_call(BorrowedRef callable) { add(callable); }

void register_pure_attributes(BorrowedRef owner, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    Ref attribute = Ref::steal(PyObject_GetAttrString(owner, name));
    if (!attribute) {
      PyErr_Clear();  // not in this version of Python
      continue;
    }
    add(attribute.get());
  }
}

bool is_pure_call(BorrowedRef callable) { return pure_calls().contains(callable); }

ValuePtr value_of_result(Tracer& tracer, const Ref& result) {
  bool immutable = is_guardable_constant(result.get()) || PyFrozenSet_CheckExact(result.get()) ||
                   family_of_sizes(result.type()) != nullptr;
  if (immutable) return tracer.values().constant(result.get());
  if (result.get() == Py_NotImplemented) return nullptr;
  if (PyDict_CheckExact(result.get())) {
    auto dict = make_value<DictValue>();
    PyObject *key = nullptr, *held = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(result, &at, &key, &held);) {
      ValuePtr item = is_guardable_constant(key) ? value_of_result(tracer, Ref::share(held)) : nullptr;
      if (!item) return nullptr;
      dict->entries.push_back({Ref::share(key), std::move(item)});
    }
    return dict;
  }
  bool is_list = PyList_CheckExact(result.get());
  if (is_list || PyTuple_CheckExact(result.get())) {
    std::vector<ValuePtr> items;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(result.get());
    for (Py_ssize_t i = 0; i < count; ++i) {
      ValuePtr item = value_of_result(tracer, Ref::share(PySequence_Fast_GET_ITEM(result.get(), i)));
      if (!item) return nullptr;
      items.push_back(std::move(item));
    }
    return make_value<SequenceValue>(is_list, std::move(items));
  }
  return nullptr;
}

namespace {

// float(x), round(x) ... of an object whose class defines the method in Python. Null: not one of these.
ValuePtr converted_by_method(Tracer& tracer, BorrowedRef callable, const CallArgs& args) {
  struct Row {
    Ref function;
    const char* method;
    PyTypeObject* result;  // null: any type
  };
  static const Row kRows[] = {{imported("builtins", "float"), "__float__", &PyFloat_Type},
                              {imported("builtins", "int"), "__int__", &PyLong_Type},
                              {imported("builtins", "complex"), "__complex__", &PyComplex_Type},
                              {imported("builtins", "bytes"), "__bytes__", &PyBytes_Type},
                              {imported("builtins", "round"), "__round__", nullptr},
                              {imported("math", "floor"), "__floor__", nullptr},
                              {imported("math", "ceil"), "__ceil__", nullptr},
                              {imported("math", "trunc"), "__trunc__", nullptr},
                              {imported("operator", "index"), "__index__", &PyLong_Type}};
  if (args.positional.empty() || !args.keywords.empty() || !has_user_type(args.positional[0])) return nullptr;
  for (const Row& row : kRows) {
    bool takes_more = row.result == nullptr && args.positional.size() == 2;
    if (callable.get() != row.function.get() || (args.positional.size() != 1 && !takes_more)) continue;
    ValuePtr method = user_method(tracer, args.positional[0], check(PyUnicode_InternFromString(row.method)).get());
    if (!method) return nullptr;
    ValuePtr result = call_now(tracer, method, {args.positional, {}});
    if (row.result != nullptr && !tracer.values().is_exactly(result, row.result)) raise_here();
    return result;
  }
  return nullptr;
}

// A function of the standard library, or a method of a pattern, which parses templates in Python.
bool may_run_python(BorrowedRef callable) {
  if (PyFunction_Check(callable.get())) return true;
  return Py_IS_TYPE(callable.get(), &PyMethodDescr_Type) &&
         (PyDescr_TYPE(callable.get()) == pattern_type() || PyDescr_TYPE(callable.get()) == match_type());
}

// The set itself, to preserve its order.
Ref set_of_constants(Tracer& tracer, const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  if (object != nullptr && object->writes) return nullptr;
  Ref set = set_contents(tracer, value);
  Ref items = set ? check(PySequence_Tuple(set)) : Ref();
  return items && is_guardable_constant(items.get()) ? set : Ref();
}

}  // namespace

namespace {

// The built-in functions that make text of any value.
struct TextFunctions {
  PyObject* repr = imported("builtins", "repr").release();
  PyObject* format = imported("builtins", "format").release();
  PyObject* ascii = imported("builtins", "ascii").release();
  PyObject* str = reinterpret_cast<PyObject*>(&PyUnicode_Type);
  PyObject* template_format = check(PyObject_GetAttrString(str, "format")).release();
  bool contain(BorrowedRef callable) const {
    return callable.get() == str || callable.get() == repr || callable.get() == format || callable.get() == ascii;
  }
};

const TextFunctions& text_functions() {
  static const TextFunctions functions;
  return functions;
}

// The text of a value whose parts are known, or of a template; null: another function, or not known.
Ref text_of_call(Tracer& tracer, BorrowedRef callable, const CallArgs& args) {
  const TextFunctions& functions = text_functions();
  if (callable.get() == functions.template_format) return filled_braces(tracer, args);
  bool has_form = args.keywords.empty() && !args.positional.empty() && args.positional.size() < 3;
  if (!functions.contain(callable) || callable.get() == functions.ascii || !has_form) return nullptr;
  bool is_format = callable.get() == functions.format;
  Ref spec = is_format && args.positional.size() == 2 ? constant_of(tracer, args.positional[1]) : Ref();
  bool known = args.positional.size() == 1 || (spec && PyUnicode_CheckExact(spec.get()));
  int conversion = is_format ? 0 : callable.get() == functions.repr ? 2 : 1;
  return known ? text_by_parts(tracer, args.positional[0], conversion, spec.get()) : Ref();
}

// The arguments of a pure function as objects.
class PureArguments {
 public:
  PureArguments(Tracer& tracer, BorrowedRef callable)
      : tracer_(tracer), callable_(callable), takes_text_(text_functions().contain(callable)) {}

  // False: not known.
  bool add(const ValuePtr& value) {
    Ref object = object_of(value);
    if (!object) return false;
    objects_.push_back(std::move(object));
    return true;
  }
  const std::vector<Ref>& objects() const { return objects_; }
  bool from_iterator() const { return from_iterator_; }  // one of them was read from an iterator

 private:
  // The class on which a class method of a built-in class is called, or a compiled pattern.
  bool stays_itself(const ObjectValue& object) const {
    if (Py_IS_TYPE(object.object.get(), pattern_type())) return true;
    return PyType_Check(object.object.get()) &&
           !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object.object.get()), Py_TPFLAGS_HEAPTYPE) &&
           Py_IS_TYPE(callable_.get(), &PyClassMethodDescr_Type);
  }

  Ref object_of(const ValuePtr& value) {
    if (auto* made = as<ConstructedValue>(value);
        made != nullptr && made->model && !PyWeakref_CheckRef(made->model.get()))
      return made->model;
    if (has_user_type(value) && takes_plain_value(callable_))
      if (ValuePtr plain =
              plain_value(tracer_, value, {"__int__", "__index__", "__float__", "__hash__", "__trunc__", "__round__"}))
        return constant_of(tracer_, plain);
    if (auto* object = as<ObjectValue>(value); object != nullptr && stays_itself(*object))
      return Ref::share(tracer_.values().identity_of(value));
    if (exception_of(value) != nullptr) return text_of_exception(value);
    Ref constant = is_tensor(value) ? Ref() : constant_of(tracer_, value);
    // The text of a container shows its type.
    return constant || takes_text_ ? constant : container_of(value);
  }

  Ref text_of_exception(const ValuePtr& value) {
    bool for_repr = callable_.get() == text_functions().repr || callable_.get() == text_functions().ascii;
    return takes_text_ ? text_model(tracer_, value, for_repr) : Ref();
  }

  // A list of constants created in the trace is only read (str.join, max).
  Ref container_of(const ValuePtr& value) {
    bool is_plain = type_of(value) == &PyList_Type || type_of(value) == &PyTuple_Type;
    bool is_iterator = value->kind == ValueKind::Iterator && goes_over_argument(callable_);
    from_iterator_ = from_iterator_ || is_iterator;
    auto elements = is_iterator ? iterate(tracer_, value) : is_plain ? elements_of(tracer_, value) : nullptr;
    Ref items = elements ? constant_of(tracer_, make_value<SequenceValue>(false, *elements)) : Ref();
    if (items) return check(PySequence_List(items));
    if (type_of(value) == &PySet_Type) return set_of_constants(tracer_, value);
    return type_of(value) == &PyDict_Type ? dict_of_constants(tracer_, value) : Ref();
  }

  Tracer& tracer_;
  BorrowedRef callable_;
  const bool takes_text_;
  std::vector<Ref> objects_;
  bool from_iterator_ = false;
};

// Null with the exception that the function raised.
Ref call_pure(BorrowedRef callable, const std::vector<Ref>& objects, size_t positional, PyObject* names) {
  std::vector<PyObject*> plain(objects.begin(), objects.end());
  std::optional<NoWarnings> silence;
  if (may_run_python(callable)) silence.emplace();
  Ref result = Ref::steal(PyObject_Vectorcall(callable, plain.data(), positional, names));
  if (silence && silence->met()) {
    PyErr_Clear();
    silence.reset();
    graph_break(BreakReason::builtin_call, "a function that warns");
  }
  return result;
}

ValuePtr value_of_call(Tracer& tracer, BorrowedRef callable, const CallArgs& args, const Ref& result) {
  // A function that returns its argument returns that of each run.
  for (const ValuePtr& value : args.positional)
    if (auto* object = as<ObjectValue>(value); object != nullptr && object->object.get() == result.get()) return value;
  if (!Py_IS_TYPE(result.get(), match_type())) return value_of_result(tracer, result);
  auto match = make_value<ConstructedValue>(tracer.values().constant(reinterpret_cast<PyObject*>(match_type())),
                                            args.positional, args.keywords);
  match->maker = tracer.values().constant(callable);
  match->model = result;
  return match;
}

}  // namespace

ValuePtr fold_pure_call(Tracer& tracer, BorrowedRef callable, const CallArgs& args) {
  auto is_identity = [](const ValuePtr& value) { return value->kind == ValueKind::Identity; };
  if (std::ranges::any_of(args.positional, is_identity)) {
    CallArgs numbers = args;
    for (ValuePtr& value : numbers.positional) value = number_or_itself(tracer, value);
    if (numbers.positional != args.positional) return fold_pure_call(tracer, callable, numbers);
  }
  if (callable.get() == reinterpret_cast<PyObject*>(&PyRange_Type)) LoopScope::current().note_range(tracer, args);
  if (ValuePtr converted = converted_by_method(tracer, callable, args)) return converted;
  if (ValuePtr computed = computed_call(tracer, callable, args)) return computed;
  auto note_choice = [](const ValuePtr& value) { LoopScope::current().note_choice(value); };
  if (Ref text = text_of_call(tracer, callable, args)) {
    std::ranges::for_each(args.positional, note_choice);
    return tracer.values().constant(text);
  }
  PureArguments arguments(tracer, callable);
  for (const ValuePtr& value : args.positional)
    if (!arguments.add(value)) return nullptr;
  for (const auto& [name, value] : args.keywords)
    if (!arguments.add(value)) return nullptr;
  Ref names = args.keyword_names();
  const std::vector<Ref>& objects = arguments.objects();
  if (growing_calls().contains(callable) && may_be_large(objects)) return nullptr;
  bool formats = callable.get() == text_functions().format || callable.get() == text_functions().template_format;
  if (formats && std::ranges::any_of(objects, is_formatted_by_locale)) return nullptr;
  if (looks_for_codec(callable, objects, names.get()))
    graph_break(BreakReason::builtin_call, "a codec, or what it does about an error, that programs may replace");
  Ref result = call_pure(callable, objects, args.positional.size(), args.keywords.empty() ? nullptr : names.get());
  if (!result && arguments.from_iterator()) {
    PyErr_Clear();
    graph_break(BreakReason::builtin_call, "a function that fails before its iterator ends");
  }
  if (!result) raise_current(tracer);
  if (PyUnicode_Check(result.get())) std::ranges::for_each(args.positional, note_choice);
  return value_of_call(tracer, callable, args, result);
}

namespace {

void add_pure_calls() {
  add_functions("builtins",
                {"abs", "bin", "chr",  "complex", "divmod", "float", "hex",   "int",    "max",   "min",  "oct",
                 "ord", "pow", "repr", "round",   "slice",  "str",   "ascii", "format", "bytes", "range"});
  // The results of factorial, comb and perm may be huge.
  add_all_functions("math", {"factorial", "comb", "perm"});
  add(reinterpret_cast<PyObject*>(device_type()));
  add(reinterpret_cast<PyObject*>(size_type()));
  for (const char* name : {"factorial", "comb", "perm"}) {
    Ref function = imported("math", name);
    add(function.get());
    growing_calls().insert(function.get());
  }
  add_growing(reinterpret_cast<PyObject*>(&PyUnicode_Type),
              {"zfill", "ljust", "rjust", "center", "expandtabs", "format", "format_map"});
  add_growing(reinterpret_cast<PyObject*>(&PyUnicode_Type), {"maketrans"});
  for (PyTypeObject* type : {&PyUnicode_Type, &PyLong_Type, &PyFloat_Type, &PyComplex_Type})
    add_growing(reinterpret_cast<PyObject*>(type), {"__format__"});
  for (PyTypeObject* type : {&PyUnicode_Type, &PyLong_Type, &PyFloat_Type, &PyComplex_Type, &PyBytes_Type})
    register_pure_attributes(reinterpret_cast<PyObject*>(type), {"__repr__"});
  add_growing(reinterpret_cast<PyObject*>(&PyBytes_Type), {"zfill", "ljust", "rjust", "center", "expandtabs"});
  add_class_methods(&PyLong_Type, {"from_bytes"});
  add_class_methods(&PyFloat_Type, {"fromhex"});
  add_class_methods(&PyBytes_Type, {"fromhex"});
  register_pure_attributes(reinterpret_cast<PyObject*>(&PySlice_Type), {"indices"});
  add_functions("posix", {"fspath", "_path_normpath"});
  add_functions("sys", {"intern"});
  add_functions("operator", {"index", "length_hint"});
  add_functions("keyword", {"iskeyword", "issoftkeyword"});
  add_functions("_bisect", {"bisect_left", "bisect_right"});
  add_methods(&PyUnicode_Type, {"zfill", "ljust", "rjust", "center", "expandtabs", "format", "format_map"});
  add_methods(&PyBytes_Type, {"zfill", "ljust", "rjust", "center", "expandtabs"});
  add_methods(&PyLong_Type, {});
  add_methods(&PyFloat_Type, {});
  add_methods(&PyComplex_Type, {});
  add_methods(&PyTuple_Type, {});
  add_methods(size_type(), {});
  add_methods(&PyRange_Type, {});
}

// Dates and times without a time zone are constants. What depends on the zone of the process, on its locale or on the
// clock is left to the interpreter.
bool add_dates() {
  BorrowedRef names = loaded_names("datetime", "timezone");
  if (!names) return false;
  for (const char* name : {"date", "time", "datetime", "timedelta"}) {
    PyObject* type = PyDict_GetItemString(names, name);
    if (type == nullptr || !PyType_Check(type) ||
        PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type), Py_TPFLAGS_HEAPTYPE))
      continue;
    register_constant_type(reinterpret_cast<PyTypeObject*>(type));
    add(type);
    add_methods(reinterpret_cast<PyTypeObject*>(type),
                {"strftime", "astimezone", "timestamp", "timetuple", "utctimetuple", "isocalendar"});
    for (const char* method : {"fromisoformat", "fromordinal", "combine"})
      if (PyDict_GetItemString(check(PyObject_GetAttrString(type, "__dict__")), method) != nullptr)
        add_class_methods(reinterpret_cast<PyTypeObject*>(type), {method});
  }
  return true;
}

const CallRegistration call_registration(add_pure_calls);
const LateCallRegistration late_call_registration(add_dates);

}  // namespace

}  // namespace md
