#include "symbolic/calls/mode_calls.h"

#include "cpython/imports.h"
#include "cpython/text.h"
#include "frontends/dtype_object.h"
#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/marked_calls.h"
#include "symbolic/facts/copied_names.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/tensors/backward_calls.h"
#include "symbolic/tensors/gradient_attributes.h"
#include "symbolic/tensors/tensor_data_calls.h"
#include "symbolic/tensors/tensor_numbers.h"
#include "symbolic/tensors/traced_calls.h"
#include "tensor/tensor_modes.h"

namespace md {

namespace {

template <ValuePtr (*answer)(Tracer&)>
ValuePtr without_arguments(Tracer& tracer, const CallArgs& args) {
  if (!args.is_empty()) raise_here();
  return answer(tracer);
}

bool bool_argument(Tracer& tracer, const CallArgs& args) {
  Ref value = args.positional.size() == 1 && args.keywords.empty() ? constant_of(tracer, args.positional[0]) : Ref();
  if (!value || !PyBool_Check(value.get())) raise_here();
  return value.get() == Py_True;
}

ValuePtr exchange_grad_mode(Tracer& tracer, const CallArgs& args) {
  bool value = bool_argument(tracer, args);
  tracer.guards().global_state(default_family());
  return tracer.values().boolean(std::exchange(tracer.builder().modes().grad, value));
}

ValuePtr exchange_inference_mode(Tracer& tracer, const CallArgs& args) {
  bool value = bool_argument(tracer, args);
  tracer.guards().global_state(default_family());
  return tracer.values().boolean(std::exchange(tracer.builder().modes().inference, value));
}

// Autocast at the current point of the trace.
AutocastState& autocast_state(Tracer& tracer) {
  tracer.guards().global_state(default_family());
  return tracer.builder().modes().autocast;
}

ValuePtr exchange_autocast_enabled(Tracer& tracer, const CallArgs& args) {
  bool value = bool_argument(tracer, args);
  return tracer.values().boolean(std::exchange(autocast_state(tracer).enabled, value));
}

ValuePtr exchange_autocast_cache(Tracer& tracer, const CallArgs& args) {
  bool value = bool_argument(tracer, args);
  return tracer.values().boolean(std::exchange(autocast_state(tracer).keeps_casts, value));
}

ValuePtr exchange_autocast_dtype(Tracer& tracer, const CallArgs& args) {
  Ref value = args.positional.size() == 1 && args.keywords.empty() ? constant_of(tracer, args.positional[0]) : Ref();
  std::optional<DType> dtype = value && Py_IS_TYPE(value.get(), dtype_type()) ? dtype_from_python(value) : std::nullopt;
  if (!dtype) raise_here();
  return tracer.values().constant(dtype_to_python(std::exchange(autocast_state(tracer).dtype, *dtype)));
}

ValuePtr is_autocasting(Tracer& tracer) { return tracer.values().boolean(autocast_state(tracer).enabled); }
ValuePtr is_autocast_cache_enabled(Tracer& tracer) {
  return tracer.values().boolean(autocast_state(tracer).keeps_casts);
}
ValuePtr autocast_dtype(Tracer& tracer) {
  return tracer.values().constant(dtype_to_python(autocast_state(tracer).dtype));
}

ValuePtr is_grad_enabled(Tracer& tracer) {
  tracer.guards().global_state(default_family());
  return tracer.values().boolean(tracer.builder().modes().grad && !tracer.builder().modes().inference);
}

// Called by __enter__ and __exit__ of the package's own context manager: applies to the user's frame and the package's
// frames above it.
ValuePtr exchange_error_on_graph_break(Tracer& tracer, const CallArgs& args) {
  bool value = bool_argument(tracer, args);
  bool previous = tracer.frames().innermost().policy->error_on_graph_break;
  tracer.frames().set_policy(with_error_on_graph_break(tracer.frames().innermost().policy, value));
  return tracer.values().boolean(previous);
}

ValuePtr error_on_graph_break(Tracer& tracer) {
  return tracer.values().boolean(tracer.frames().innermost().policy->error_on_graph_break);
}

std::string argument_list(Tracer& tracer, const CallArgs& args) {
  std::string text;
  for (const ValuePtr& value : args.positional) {
    Ref constant = constant_of(tracer, value);
    Ref repr = constant ? Ref::steal(PyObject_Repr(constant)) : Ref();
    if (!repr) PyErr_Clear();
    text += (text.empty() ? "" : ", ") + (repr ? text_of(repr) : describe(value));
  }
  return text;
}

std::string keyword_list(Tracer& tracer, const CallArgs& args) {
  std::string text;
  for (const auto& [name, value] : args.keywords) {
    text += (text.empty() ? "" : ", ") + str_cat("'", text_of(name), "': ");
    text += argument_list(tracer, {{value}, {}});
  }
  return text;
}

std::string message_of(Tracer& tracer, const CallArgs& args) {
  const ValuePtr* message = !args.positional.empty() ? &args.positional[0] : args.keyword("msg");
  Ref constant = message != nullptr ? constant_of(tracer, *message) : Ref();
  Ref message_text = constant ? Ref::steal(PyObject_Str(constant)) : Ref();
  if (!message_text) PyErr_Clear();
  std::string text = message_text ? text_of(message_text) : "";
  return text.empty() ? "None" : text;
}

template <BreakReason reason>
ValuePtr asked_break(Tracer& tracer, const CallArgs& args) {
  std::string title = break_row(reason).title;
  std::string name = title.substr(title.find('`'));
  std::string explanation = str_cat(break_row(reason).explanation, " Message: ", message_of(tracer, args));
  graph_break(reason,
              str_cat("Called ", name, " with args `[", argument_list(tracer, args), "]`, kwargs `{",
                      keyword_list(tracer, args), "}`"),
              explanation);
}

// The registered callables by name; never freed.
std::unordered_map<std::string_view, PyObject*>& registered() {
  static auto* table = new std::unordered_map<std::string_view, PyObject*>();
  return *table;
}

ValuePtr of_data(Tracer& tracer, const char* name, const CallArgs& args) {
  return tensor_of_data(tracer, registered().at(name), registered().at("tensor"), args);
}

ValuePtr call_tensor(Tracer& tracer, const CallArgs& args) { return of_data(tracer, "tensor", args); }

ValuePtr tensor_class(Tracer& tracer, const CallArgs& args) {
  return tensor_of_class(tracer, registered().at("Tensor"), registered().at("tensor"), args);
}

ValuePtr new_tensor(Tracer& tracer, const CallArgs& args) { return of_data(tracer, "new_tensor", args); }

// as_tensor(tensor) of a tensor of ours, without further arguments, is the tensor itself.
ValuePtr as_tensor(Tracer& tracer, const CallArgs& args) {
  auto* tensor = args.positional.size() == 1 && args.keywords.empty() ? as<TensorValue>(args.positional[0]) : nullptr;
  bool is_itself = tensor != nullptr && tensor->family == &default_family();
  if (tensor != nullptr) tracer.values().guard_tensor(tensor);
  return is_itself ? args.positional[0] : of_data(tracer, "as_tensor", args);
}

// A flag that the tensor has already, or a new leaf.
ValuePtr requires_grad(Tracer& tracer, const CallArgs& args) {
  auto* tensor = args.positional.empty() ? nullptr : as<TensorValue>(args.positional[0]);
  const ValuePtr* given = args.positional.size() == 2 ? &args.positional[1] : args.keyword("requires_grad");
  bool is_call = tensor != nullptr && args.positional.size() + args.keywords.size() == (given != nullptr ? 2U : 1U);
  Ref flag = given == nullptr ? Ref::share(Py_True) : is_call ? constant_of(tracer, *given) : Ref();
  if (!is_call || !flag || !PyBool_Check(flag.get())) raise_here();
  tracer.values().guard_tensor(tensor);
  bool is_set = flag.get() == Py_True;
  if (tensor->spec.requires_grad && !is_set)
    graph_break(BreakReason::tensor_method, "requires_grad_ that changes the flag");
  if (is_set && !tensor->spec.requires_grad) make_leaf(tracer, args.positional[0]);
  return args.positional[0];
}

ValuePtr is_tensor(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 1 || !args.keywords.empty()) raise_here();
  tracer.values().exact_type(args.positional[0]);
  auto* tensor = as<TensorValue>(args.positional[0]);
  return tracer.values().boolean(tensor != nullptr && tensor->family == &default_family());
}

ValuePtr get_default_dtype(Tracer& tracer) {
  tracer.guards().global_state(default_family());
  return tracer.values().constant(dtype_to_python(default_dtype()));
}

// The default dtype that is set already.
ValuePtr set_default_dtype(Tracer& tracer, const CallArgs& args) {
  Ref dtype = args.positional.size() == 1 && args.keywords.empty() ? constant_of(tracer, args.positional[0]) : Ref();
  if (!dtype) raise_here();
  tracer.guards().global_state(default_family());
  if (dtype.get() != dtype_to_python(default_dtype()))
    graph_break(BreakReason::unknown_c_function, "set_default_dtype() of another dtype");
  return tracer.values().none();
}

// A node without results, kept in order with the ops that draw random numbers. A seed outside int64 is left to the
// interpreter.
ValuePtr seed_generator(Tracer& tracer, const CallArgs& args) {
  static const OpRow* const row = find_op("manual_seed");
  Ref seed = args.positional.size() == 1 && args.keywords.empty() ? constant_of(tracer, args.positional[0]) : Ref();
  if (!seed || !PyLong_CheckExact(seed.get()))
    graph_break(BreakReason::builtin_call, "manual_seed() of a seed that is not known");
  int overflow = 0;
  int64_t number = PyLong_AsLongLongAndOverflow(seed, &overflow);
  if (overflow != 0) graph_break(BreakReason::builtin_call, "manual_seed() of a large seed");
  tracer.builder().add_op(*row, {Scalar(number)});
  return tracer.values().none();
}

// nonstrict_trace(f) in captured code: a callable that is called through call_nonstrict, whose first argument is f.
ValuePtr nonstrict_trace(Tracer& tracer, const CallArgs& args) {
  static PyObject* const call = imported("minidynamo._dynamo.traced_calls", "call_nonstrict").release();
  if (args.positional.size() != 1 || !args.keywords.empty() || !is_python_function(args.positional[0]))
    graph_break(BreakReason::traced_call, "nonstrict_trace() of something else than a Python function");
  return make_value<BoundMethodValue>(tracer.values().constant(call), args.positional[0]);
}

ValuePtr call_nonstrict(Tracer& tracer, const CallArgs& args) {
  static PyObject* const trace = imported("minidynamo._dynamo.traced_calls", "trace_nonstrict").release();
  static PyObject* const call = imported("minidynamo._dynamo.traced_calls", "call_nonstrict").release();
  if (const TensorFamily* family = other_family(args)) return call_opaque(tracer, *family, call, args);
  return call_traced(tracer, trace, args);
}

// A bool checked by the package's decorators; any other argument is left to the interpreter.
std::optional<bool> flag_of(Tracer& tracer, const CallArgs& args, const char* name) {
  const ValuePtr* value = args.keyword(name);
  if (value == nullptr) return std::nullopt;
  Ref constant = constant_of(tracer, *value);
  if (!constant || !PyBool_Check(constant.get())) raise_here();
  return constant.get() == Py_True;
}

PolicyChange change_of(Tracer& tracer, const CallArgs& args) {
  std::optional<bool> errors = flag_of(tracer, args, "error_on_graph_break");
  std::optional<bool> disable = flag_of(tracer, args, "disable");
  std::optional<bool> recursive = flag_of(tracer, args, "recursive");
  size_t known =
      (args.keyword("reason") != nullptr ? 1 : 0) + (errors ? 1 : 0) + (disable ? 1 : 0) + (recursive ? 1 : 0);
  if (args.keywords.size() != known || errors.has_value() == disable.value_or(false)) raise_here();
  if (errors) return *errors ? PolicyChange::ErrorOnGraphBreak : PolicyChange::NoErrorOnGraphBreak;
  return recursive.value_or(true) ? PolicyChange::Disable : PolicyChange::DisableFrame;
}

// PolicyFunction(function, ...): the result of the package's decorators.
ValuePtr decorate(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 1) raise_here();
  const ValuePtr& function = args.positional[0];
  bool is_known = function->kind == ValueKind::PolicyFunction || function->kind == ValueKind::BoundMethod ||
                  is_python_function(function);
  // Its attributes are copied at the exit.
  auto* object = as<ObjectValue>(function);
  if (!is_known || (object != nullptr && object->writes))
    graph_break(BreakReason::object_creation, str_cat("PolicyFunction of a ", describe(function)));
  PolicyChange change = change_of(tracer, args);
  const ValuePtr* reason = args.keyword("reason");
  Ref text = reason != nullptr ? constant_of(tracer, *reason) : Ref::share(Py_None);
  if (!text) graph_break(BreakReason::object_creation, "PolicyFunction with a reason that is not known");
  auto wrapper = make_value<PolicyFunctionValue>(function, change, tracer.values().constant(text));
  wrapper->copied = names_to_update(tracer, function);
  wrapper->creation_step = tracer.step_number();
  return wrapper;
}

// The condition of a check: if it depends on tensor data it becomes a runtime assert; where it is false, the
// interpreter raises.
ValuePtr holds(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 1 || !args.keywords.empty()) raise_here();
  if (auto* number = as<NumberValue>(args.positional[0]); number != nullptr && number->type == &PyBool_Type) {
    assert_at_run_time(tracer, number);
    return tracer.values().boolean(true);
  }
  if (type_of(args.positional[0]) != &PyBool_Type) raise_here();
  std::optional<bool> truth = truth_of(tracer, args.positional[0]);
  if (!truth) raise_here();
  return tracer.values().boolean(*truth);
}

TensorValue* lone_tensor(const CallArgs& args, DType dtype) {
  auto* tensor = args.positional.size() == 1 && args.keywords.empty() ? as<TensorValue>(args.positional[0]) : nullptr;
  if (tensor == nullptr || tensor->spec.dtype != dtype || tensor->spec.rank() != 0) raise_here();
  return tensor;
}

// The condition on data under which an operation of the package is done. It stays in the graph under any config.
ValuePtr data_holds(Tracer& tracer, const CallArgs& args) {
  ValuePtr condition = number_of(tracer, lone_tensor(args, DType::bool_));
  auto* number = as<NumberValue>(condition);
  if (number == nullptr) return condition;  // it follows from constants alone
  assert_at_run_time(tracer, number);
  return tracer.values().boolean(true);
}

// A size that operations of the package count, not negative.
ValuePtr as_size(Tracer& tracer, const CallArgs& args) {
  static const OpRow* const clone = find_op("clone");
  TensorValue* tensor = lone_tensor(args, DType::int64);
  if (!captures_data_sizes(tracer)) graph_break(BreakReason::data_dependent_shape, "a size out of a tensor");
  tracer.values().guard_tensor(tensor);
  return size_value(tracer, counted_size(tracer, *clone, {tracer.builder().graph_value(tensor)}));
}

// A stand-in that does not cover the arguments: the library's own function is called.
ValuePtr decline(Tracer& tracer, const CallArgs& args) {
  graph_break(BreakReason::unknown_c_function, message_of(tracer, args));
}

// Done when the capture began.
ValuePtr nothing(Tracer& tracer) { return tracer.values().none(); }

ValuePtr always_true(Tracer& tracer) { return tracer.values().boolean(true); }
ValuePtr is_compiling_for_library(Tracer& tracer) {
  if (ignores_marks(tracer.frames().bytecode().code())) return tracer.values().boolean(false);
  tracer.builder().note_answer_as_capture();
  return tracer.values().boolean(true);
}
ValuePtr always_false(Tracer& tracer) { return tracer.values().boolean(false); }

// A mark of the library's for its own compiler is none for us.
ValuePtr graph_break_asked(Tracer& tracer, const CallArgs& args) {
  if (ignores_marks(tracer.frames().bytecode().code())) return tracer.values().none();
  return asked_break<BreakReason::graph_break_call>(tracer, args);
}

struct ModeCallRow {
  const char* name;
  CallHandler handler;
};
constexpr ModeCallRow kRows[] = {{"exchange_grad_mode", exchange_grad_mode},
                                 {"exchange_inference_mode", exchange_inference_mode},
                                 {"exchange_autocast_enabled", exchange_autocast_enabled},
                                 {"exchange_autocast_dtype", exchange_autocast_dtype},
                                 {"exchange_autocast_cache", exchange_autocast_cache},
                                 {"is_autocasting", without_arguments<is_autocasting>},
                                 {"autocast_dtype", without_arguments<autocast_dtype>},
                                 {"is_autocast_cache_enabled", without_arguments<is_autocast_cache_enabled>},
                                 {"clear_autocast_cache", without_arguments<nothing>},
                                 {"is_grad_enabled", without_arguments<is_grad_enabled>},
                                 {"exchange_error_on_graph_break", exchange_error_on_graph_break},
                                 {"error_on_graph_break", without_arguments<error_on_graph_break>},
                                 {"graph_break", graph_break_asked},
                                 {"skip_frame", asked_break<BreakReason::skip_frame_call>},
                                 {"step_unsupported", asked_break<BreakReason::step_unsupported_call>},
                                 {"nonstrict_trace", nonstrict_trace},
                                 {"call_nonstrict", call_nonstrict},
                                 {"PolicyFunction", decorate},
                                 {"is_compiling", without_arguments<always_true>},
                                 {"is_tracing", without_arguments<always_true>},
                                 {"is_compiling_for_library", without_arguments<is_compiling_for_library>},
                                 {"is_exporting", without_arguments<always_false>},
                                 {"is_tensor", is_tensor},
                                 {"get_default_dtype", without_arguments<get_default_dtype>},
                                 {"set_default_dtype", set_default_dtype},
                                 {"tensor", call_tensor},
                                 {"Tensor", tensor_class},
                                 {"as_tensor", as_tensor},
                                 {"new_tensor", new_tensor},
                                 {"requires_grad_", requires_grad},
                                 {"manual_seed", seed_generator},
                                 {"decline", decline},
                                 {"load_families", without_arguments<nothing>},
                                 {"backward", call_backward},
                                 {"run_backward", call_run_backward},
                                 {"run_backward_into", call_run_backward_into},
                                 {"leave_backward", call_leave_backward},
                                 {"holds", holds},
                                 {"data_holds", data_holds},
                                 {"as_size", as_size}};

}  // namespace

void register_mode_call(std::string_view name, BorrowedRef callable) {
  for (const ModeCallRow& row : kRows) {
    if (name != row.name) continue;
    registered().try_emplace(row.name, callable.get());  // kept by the registry of calls
    return register_call(callable, row.handler);
  }
  raise(ErrorKind::Key, "no known call is named ", name);
}

}  // namespace md
