// Loggers. A call below the levels of the logger and its parents does nothing; any other is an output.
// Loggers cache the result per level, until setLevel() and disable() clear the cache; the trace reads the values from
// which it would be computed.
#include <algorithm>

#include "cpython/imports.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/output_calls.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/output_requests.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

constexpr int kMostParents = 64;

// The names of the module when its calls were registered.
PyObject* logging_names = nullptr;

PyObject* in_logging(const char* name) {
  return check(Py_XNewRef(PyDict_GetItemString(logging_names, name))).release();  // never released
}

PyObject* logger_class() {
  static PyObject* const type = in_logging("Logger");
  return type;
}

ValuePtr field(Tracer& tracer, const ValuePtr& object, const char* name) {
  return optional_attribute(tracer, object, check(PyUnicode_InternFromString(name)).get());
}

std::optional<int64_t> number(Tracer& tracer, const ValuePtr& object, const char* name) {
  ValuePtr value = field(tracer, object, name);
  return value ? int_of(tracer, value) : std::nullopt;
}

std::optional<int64_t> effective_level(Tracer& tracer, ValuePtr logger) {
  for (int i = 0; i < kMostParents; ++i) {
    std::optional<int64_t> level = number(tracer, logger, "level");
    if (!level || *level != 0) return level;
    logger = field(tracer, logger, "parent");
    if (!logger) return std::nullopt;
    if (tracer.values().exact_type(logger) == Py_TYPE(Py_None)) return 0;
  }
  return std::nullopt;
}

// Returns true if the method is defined by a class of the logging module.
bool has_own_method(Tracer& tracer, const ValuePtr& object, PyObject* of, const char* name) {
  Ref key = check(PyUnicode_InternFromString(name));
  Ref own = check(PyObject_GetAttr(of, key));
  ValuePtr found = optional_attribute(tracer, object, key.get());
  auto* method = as<BoundMethodValue>(found);
  auto* function = method != nullptr ? as<ObjectValue>(method->function) : nullptr;
  if (function == nullptr || function->object.get() != own.get()) return false;
  tracer.values().identity_of(method->function);
  return true;
}

// The result of Logger.isEnabledFor, and the cache to store it in.
struct Enabled {
  bool answer;
  ValuePtr cache;  // null: the result is cached already, or not to be cached
};

// Nullopt if unknown. If `reads_cache` is false, the logging call itself reads the cache when the levels allow the
// message.
std::optional<Enabled> enabled_for(Tracer& tracer, const ValuePtr& logger, int64_t level, bool reads_cache) {
  auto* object = as<ObjectValue>(logger);
  if (object == nullptr || !PyObject_TypeCheck(object->object.get(), reinterpret_cast<PyTypeObject*>(logger_class())))
    return std::nullopt;
  for (const char* name : {"isEnabledFor", "getEffectiveLevel"})
    if (!has_own_method(tracer, logger, logger_class(), name)) return std::nullopt;
  ValuePtr disabled = field(tracer, logger, "disabled");
  std::optional<bool> is_disabled = disabled ? truth_of(tracer, disabled) : std::nullopt;
  if (!is_disabled) return std::nullopt;
  if (*is_disabled) return Enabled{false, nullptr};
  ValuePtr manager = field(tracer, logger, "manager");
  std::optional<int64_t> off = manager ? number(tracer, manager, "_disable") : std::nullopt;
  if (!off) return std::nullopt;
  std::optional<int64_t> threshold = *off < level ? effective_level(tracer, logger) : 0;
  if (!threshold) return std::nullopt;
  bool answer = *off < level && level >= *threshold;
  if (answer && !reads_cache) return Enabled{true, nullptr};
  // A cached result is used until setLevel() and similar clear the cache, whatever the current level.
  ValuePtr cache = field(tracer, logger, "_cache");
  if (!cache || !tracer.values().is_exactly(cache, &PyDict_Type)) return std::nullopt;
  ValuePtr found = dict_item(tracer, cache, check(PyLong_FromLongLong(level)).get());
  if (!found) return Enabled{answer, cache};
  std::optional<bool> kept = truth_of(tracer, found);
  return kept ? std::optional(Enabled{*kept, nullptr}) : std::nullopt;
}

// Logger.isEnabledFor; nullopt if unknown.
std::optional<bool> is_enabled(Tracer& tracer, const ValuePtr& logger, int64_t level, bool reads_cache) {
  std::optional<Enabled> enabled = enabled_for(tracer, logger, level, reads_cache);
  if (!enabled) return std::nullopt;
  if (enabled->cache)
    store_in_dict(tracer, enabled->cache, check(PyLong_FromLongLong(level)).get(),
                  tracer.values().boolean(enabled->answer));
  return enabled->answer;
}

// Returns true if a message of this level is discarded.
bool is_off(Tracer& tracer, const ValuePtr& logger, std::optional<int64_t> level) {
  return level && is_enabled(tracer, logger, *level, false) == false;
}

// extra={...} is read by the call itself.
bool is_read_at_once(const std::pair<Ref, ValuePtr>& keyword) {
  auto* dict = as<DictValue>(keyword.second);
  bool is_extra = PyUnicode_CompareWithASCIIString(keyword.first, "extra") == 0;
  return is_extra && dict != nullptr && !dict->type && dict->owner == nullptr &&
         std::ranges::all_of(dict->entries, can_be_given, &DictValue::Entry::value);
}

Handle<DictValue> copy_of(const DictValue& dict) {
  auto copy = make_value<DictValue>();
  for (const DictValue::Entry& entry : dict.entries) copy->set(entry.key.get(), entry.value);
  return copy;
}

void queue(Tracer& tracer, PyObject* function, const char* name, const CallArgs& args) {
  OutputRequest request{Ref::share(function), args, true, BreakReason::log_call, str_cat("logging: ", name, "()")};
  bool is_known = std::ranges::all_of(args.positional, can_be_given);
  for (auto& [key, value] : request.args.keywords) {
    if (is_read_at_once({key, value}))
      value = copy_of(*as<DictValue>(value));
    else
      is_known = is_known && can_be_given(value);
  }
  if (!is_known) graph_break(request.reason, request.context);
  queue_output(tracer, request);
}

struct LogMethod {
  const char* name;
  int level;  // -1: the first argument
};
constexpr LogMethod kMethods[] = {{"debug", 10},     {"info", 20},     {"warning", 30}, {"error", 40},
                                  {"exception", 40}, {"critical", 50}, {"log", -1}};

std::optional<int64_t> level_of(Tracer& tracer, const LogMethod& method, const CallArgs& args, size_t at) {
  if (method.level >= 0) return method.level;
  if (args.positional.size() <= at) graph_break(BreakReason::log_call, "logging: log()");
  return int_of(tracer, args.positional[at]);
}

template <int row>
ValuePtr call_method(Tracer& tracer, const CallArgs& args) {
  static PyObject* const function = check(PyObject_GetAttrString(logger_class(), kMethods[row].name)).release();
  if (args.positional.size() < 2) graph_break(BreakReason::log_call, kMethods[row].name);
  std::optional<int64_t> level = level_of(tracer, kMethods[row], args, 1);
  if (is_off(tracer, args.positional[0], level)) return tracer.values().none();
  queue(tracer, function, kMethods[row].name, args);
  return tracer.values().none();
}

// logging.info(...): on the root logger, which first gets a handler if it has none.
template <int row>
ValuePtr call_function(Tracer& tracer, const CallArgs& args) {
  static PyObject* const function = in_logging(kMethods[row].name);
  if (args.positional.empty()) graph_break(BreakReason::log_call, kMethods[row].name);
  std::optional<int64_t> level = level_of(tracer, kMethods[row], args, 0);
  ValuePtr root = loaded_name(tracer, "logging", "root");
  ValuePtr handlers = root ? field(tracer, root, "handlers") : nullptr;
  std::optional<int64_t> count = handlers ? length_of(tracer, handlers) : std::nullopt;
  if (count.value_or(0) > 0 && is_off(tracer, root, level)) return tracer.values().none();
  queue(tracer, function, kMethods[row].name, args);
  return tracer.values().none();
}

ValuePtr call_is_enabled(Tracer& tracer, const CallArgs& args) {
  std::optional<int64_t> level =
      args.positional.size() == 2 && args.keywords.empty() ? int_of(tracer, args.positional[1]) : std::nullopt;
  std::optional<bool> enabled = level ? is_enabled(tracer, args.positional[0], *level, true) : std::nullopt;
  if (!enabled) graph_break(BreakReason::log_call, "logging: isEnabledFor()");
  return tracer.values().boolean(*enabled);
}

PyObject* adapter_class() {
  static PyObject* const type = in_logging("LoggerAdapter");
  return type;
}

// Returns true if the running frame is an adapter's log(), which calls the logger's own check next, and does nothing
// else in between.
bool is_in_log_of(Tracer& tracer, const ValuePtr& adapter) {
  static PyObject* const log = check(PyObject_GetAttrString(adapter_class(), "log")).release();
  bool is_log = PyFunction_Check(log) &&
                PyFunction_GET_CODE(log) == reinterpret_cast<PyObject*>(tracer.frames().bytecode().code());
  return is_log && has_own_method(tracer, adapter, adapter_class(), "process");
}

// LoggerAdapter.isEnabledFor
ValuePtr call_adapter_is_enabled(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 1);
  ValuePtr logger = field(tracer, args.positional[0], "logger");
  ValuePtr method = logger ? field(tracer, logger, "isEnabledFor") : nullptr;
  if (!method) raise_here();
  std::optional<int64_t> level =
      is_in_log_of(tracer, args.positional[0]) ? int_of(tracer, args.positional[1]) : std::nullopt;
  std::optional<bool> enabled = level ? is_enabled(tracer, logger, *level, false) : std::nullopt;
  return enabled ? tracer.values().boolean(*enabled) : call_now(tracer, method, {{args.positional[1]}, {}});
}

// An existing logger; a new one is created by the interpreter.
ValuePtr call_get_logger(Tracer& tracer, const CallArgs& args) {
  auto refuse = [&] { graph_break(BreakReason::log_call, "logging: getLogger() of a new logger"); };
  const ValuePtr* name = args.positional.size() == 1 ? &args.positional[0] : args.keyword("name");
  if (args.positional.size() + args.keywords.size() > 1) refuse();
  ValuePtr root = loaded_name(tracer, "logging", "root");
  Ref text = name != nullptr ? constant_of(tracer, *name) : Ref::share(Py_None);
  if (!root || !text) refuse();
  bool is_root = text.get() == Py_None;
  if (!is_root && !PyUnicode_CheckExact(text.get())) refuse();
  if (!is_root) is_root = PyUnicode_GET_LENGTH(text.get()) == 0 || PyUnicode_CompareWithASCIIString(text, "root") == 0;
  if (is_root) return root;
  ValuePtr type = loaded_name(tracer, "logging", "Logger");
  ValuePtr manager = type ? field(tracer, type, "manager") : nullptr;
  ValuePtr loggers = manager ? field(tracer, manager, "loggerDict") : nullptr;
  if (!loggers || tracer.values().exact_type(loggers) != &PyDict_Type) refuse();
  ValuePtr found = dict_item(tracer, loggers, text.get());
  auto* logger = as<ObjectValue>(found);
  if (logger == nullptr) refuse();
  tracer.values().exact_type(found);
  if (!PyObject_TypeCheck(logger->object.get(), reinterpret_cast<PyTypeObject*>(logger_class()))) refuse();
  return found;
}

template <int... rows>
void register_rows(std::integer_sequence<int, rows...>) {
  (register_call(check(PyObject_GetAttrString(logger_class(), kMethods[rows].name)).get(), call_method<rows>), ...);
  (register_call(in_logging(kMethods[rows].name), call_function<rows>), ...);
}

// Returns true if the program has not replaced any of the registered functions.
bool are_its_own(BorrowedRef names) {
  auto is_its_own = [&](PyObject* owner, const char* name) {
    Ref function = Ref::steal(PyObject_GetAttrString(owner, name));
    if (!function) PyErr_Clear();
    if (!function || !PyFunction_Check(function.get()) || PyFunction_GET_GLOBALS(function.get()) != names) return false;
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()));
    return PyUnicode_CompareWithASCIIString(code->co_name, name) == 0;
  };
  PyObject *type = logger_class(), *module = PyDict_GetItemString(PyImport_GetModuleDict(), "logging");
  bool all = is_its_own(type, "isEnabledFor") && is_its_own(module, "getLogger");
  for (const LogMethod& method : kMethods)
    all = all && is_its_own(type, method.name) && is_its_own(module, method.name);
  return all;
}

// Called once the program has loaded the module.
bool add_logging_calls() {
  BorrowedRef names = loaded_names("logging", "captureWarnings");
  if (!names) return false;
  logging_names = check(PyDict_Copy(names)).release();
  if (!are_its_own(names)) return true;
  register_rows(std::make_integer_sequence<int, static_cast<int>(std::size(kMethods))>());
  register_call(check(PyObject_GetAttrString(logger_class(), "isEnabledFor")).get(), call_is_enabled);
  register_call(check(PyObject_GetAttrString(adapter_class(), "isEnabledFor")).get(), call_adapter_is_enabled);
  register_call(in_logging("getLogger"), call_get_logger);
  return true;
}

const LateCallRegistration call_registration(add_logging_calls);

}  // namespace

}  // namespace md
