// Calls of all forms, and dispatch on the callable.
#include "base/config.h"
#include "cpython/text.h"
#include "frontends/op_callables.h"
#include "frontends/tensor_facts.h"
#include "guards/cached_calls.h"
#include "guards/constants.h"
#include "guards/guarded_ref.h"
#include "guards/wrapper_callables.h"
#include "snapshot/policy_function.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/builtins/pure_calls.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/marked_calls.h"
#include "symbolic/calls/polyfills.h"
#include "symbolic/facts/mapping_proxies.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/facts/weak_references.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/tensors/conversion_calls.h"
#include "symbolic/tensors/tensor_numbers.h"
#include "symbolic/tensors/tensor_ops.h"
#include "symbolic/tensors/tensor_writes.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"

#include <algorithm>

namespace md {

namespace {

// The two slots below the arguments, in the order of either version: (NULL, callable), (callable, NULL) or (function,
// self).
struct Called {
  ValuePtr callable;
  ValuePtr self;  // null if there is none
};

Called called(ValuePtr lower, ValuePtr upper) {
  if (lower->kind == ValueKind::Null) return {std::move(upper), nullptr};
  if (upper->kind == ValueKind::Null) return {std::move(lower), nullptr};
  return {std::move(lower), std::move(upper)};
}

void call_with_names(Tracer& tracer, int count, BorrowedRef names) {
  std::vector<ValuePtr> values = tracer.frames().pop_many(count);
  ValuePtr upper = tracer.frames().pop();
  ValuePtr lower = tracer.frames().pop();
  Called target = called(std::move(lower), std::move(upper));
  CallArgs args;
  if (target.self) args.positional.push_back(target.self);
  int keywords = names ? static_cast<int>(PyTuple_GET_SIZE(names.get())) : 0;
  for (int i = 0; i < count - keywords; ++i) args.positional.push_back(values[i]);
  for (int i = 0; i < keywords; ++i)
    args.keywords.emplace_back(Ref::share(PyTuple_GET_ITEM(names.get(), i)), values[count - keywords + i]);
  call(tracer, target.callable, std::move(args));
}

void call(Tracer& tracer, const Instruction& at) {
  call_with_names(tracer, at.arg, at.arg2 >= 0 ? tracer.frames().bytecode().constant(at.arg2) : BorrowedRef());
}

void call_kw(Tracer& tracer, const Instruction& at) {
  Ref names = constant_of(tracer, tracer.frames().pop());
  MD_ASSERT(names, "keyword names are not constant");
  call_with_names(tracer, at.arg, names.get());
}

void call_function_ex(Tracer& tracer, const Instruction& at) {
  CallArgs args;
  if (at.arg != 0) {
    ValuePtr mapping = copied_mapping(tracer, tracer.frames().pop());
    auto entries = entries_of(tracer, mapping);
    if (!entries) graph_break(BreakReason::unknown_container, "keywords from a " + describe(mapping));
    for (auto& [key, value] : *entries) {
      if (!PyUnicode_CheckExact(key.get())) raise_here();
      args.keywords.emplace_back(key, value);
    }
  }
  ValuePtr sequence = tracer.frames().pop();
  auto elements = iterate(tracer, sequence, kTupleHint);
  if (!elements) graph_break(BreakReason::unknown_container, "arguments from a " + describe(sequence));
  args.positional = std::move(*elements);
  ValuePtr upper = tracer.frames().pop();
  ValuePtr lower = tracer.frames().pop();
  call(tracer, called(std::move(lower), std::move(upper)).callable, std::move(args));
}

std::string name_of_callable(const ValuePtr& callable) {
  if (auto* wrapper = as<PolicyFunctionValue>(callable)) return name_of_callable(wrapper->function);
  if (auto* function = as<FunctionValue>(callable))
    return text_of(reinterpret_cast<PyCodeObject*>(function->code.get())->co_qualname);
  auto* object = as<ObjectValue>(callable);
  if (object == nullptr) return describe(callable);
  Ref name = Ref::steal(PyObject_GetAttrString(object->object, "__qualname__"));
  if (!name) PyErr_Clear();
  return name && PyUnicode_Check(name.get()) ? text_of(name) : describe(callable);
}

// Methods of a tensor that need its data, and the reasons of their breaks.
BreakReason reason_for_tensor_method(const std::string& name) {
  static const std::pair<const char*, BreakReason> kRows[] = {
      {"item", BreakReason::tensor_to_number},      {"__int__", BreakReason::tensor_to_number},
      {"__float__", BreakReason::tensor_to_number}, {"__index__", BreakReason::tensor_to_number},
      {"tolist", BreakReason::tensor_to_list},      {"numpy", BreakReason::tensor_export},
      {"data_ptr", BreakReason::tensor_export},     {"__array__", BreakReason::tensor_export},
      {"__dlpack__", BreakReason::tensor_export},   {"equal", BreakReason::tensor_to_number},
      {"allclose", BreakReason::tensor_to_number}};
  for (const auto& [row, reason] : kRows)
    if (name == row) return reason;
  return BreakReason::tensor_method;
}

// int(x), str(x) ... of a tensor.
BreakReason reason_for_builtin(BorrowedRef callable) {
  for (PyTypeObject* type : {&PyLong_Type, &PyFloat_Type, &PyComplex_Type})
    if (callable.get() == reinterpret_cast<PyObject*>(type)) return BreakReason::tensor_to_number;
  bool is_text = callable.get() == reinterpret_cast<PyObject*>(&PyUnicode_Type);
  return is_text ? BreakReason::tensor_format : BreakReason::builtin_call;
}

// Under fullgraph, numbers are captured without the config flag, as TorchDynamo does.
bool captures_numbers(Tracer& tracer) {
  return config().capture_scalar_outputs || tracer.frames().innermost().policy->fullgraph;
}

// int(x) and float(x) of a tensor. Null: another callable, or not captured.
ValuePtr converted_to_number(Tracer& tracer, BorrowedRef callable, TensorValue* tensor) {
  bool whole = callable.get() == reinterpret_cast<PyObject*>(&PyLong_Type);
  bool is_float = callable.get() == reinterpret_cast<PyObject*>(&PyFloat_Type);
  if ((!whole && !is_float) || !captures_numbers(tracer)) return nullptr;
  return computed(tracer, whole ? ScalarOp::Int : ScalarOp::Float, {number_of(tracer, tensor)});
}

// size() and numel() of a tensor with symbolic sizes. Null: another fact, or a call that raises.
ValuePtr symbolic_fact(Tracer& tracer, const std::string& name, const TensorSpec& spec,
                       std::span<PyObject* const> args) {
  if (!any_symbolic(spec.sizes.span())) return nullptr;
  if ((name == "numel" || name == "nelement") && args.empty()) return size_value(tracer, spec.numel());
  if (name != "size" || args.size() > 1) return nullptr;
  if (args.empty() || args[0] == Py_None) return shape_value(tracer, spec);
  if (!PyLong_CheckExact(args[0])) return nullptr;
  int overflow = 0;
  int64_t dim = PyLong_AsLongLongAndOverflow(args[0], &overflow);
  if (overflow != 0 || dim < -spec.rank() || dim >= spec.rank()) return nullptr;
  return size_value(tracer, spec.sizes[static_cast<int>(dim < 0 ? dim + spec.rank() : dim)]);
}

// A number, or an object that is the same at every run (a memory format).
Ref fact_argument(Tracer& tracer, const std::string& name, const ValuePtr& value) {
  if (Ref constant = constant_of(tracer, value)) return constant;
  auto* object = as<ObjectValue>(value);
  if (object == nullptr || !can_hold_strongly(object->object.get())) graph_break(BreakReason::tensor_method, name);
  return Ref::share(tracer.values().identity_of(value));
}

// A method descriptor of the tensor type that is not an op: a conversion, a fact, or a break.
ValuePtr call_tensor_method(Tracer& tracer, PyObject* descriptor, const CallArgs& args) {
  std::string name = text_of(reinterpret_cast<PyDescrObject*>(descriptor)->d_name);
  auto* tensor = args.positional.empty() ? nullptr : as<TensorValue>(args.positional[0]);
  if (tensor != nullptr)
    if (ValuePtr converted = call_conversion(tracer, name, tensor, args)) return converted;
  bool takes_out = tensor != nullptr && captures_numbers(tracer) && args.positional.size() == 1;
  if (takes_out && args.keywords.empty()) {
    if (name == "item") return number_of(tracer, tensor);
    if (name == "tolist") return numbers_of(tracer, tensor);
  }
  const TensorFact* fact = find_tensor_fact(name);
  if (tensor == nullptr || fact == nullptr) graph_break(reason_for_tensor_method(name), name);
  std::vector<Ref> held;
  std::vector<PyObject*> plain;
  auto add = [&](const ValuePtr& value) {
    plain.push_back(held.emplace_back(fact_argument(tracer, name, value)).get());
  };
  for (size_t i = 1; i < args.positional.size(); ++i) add(args.positional[i]);
  Ref names = args.keywords.empty() ? Ref() : check(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size())));
  for (size_t i = 0; i < args.keywords.size(); ++i) {
    PyTuple_SET_ITEM(names.get(), i, Py_NewRef(args.keywords[i].first.get()));
    add(args.keywords[i].second);
  }
  tracer.values().guard_tensor(tensor);
  try {
    ValuePtr size = names ? nullptr : symbolic_fact(tracer, name, tensor->spec, plain);
    return size ? size : tracer.values().constant(fact->value(tensor->spec, plain, names.get()));
  } catch (const Error&) {
    raise_here();
  } catch (const PythonError&) {
    raise_here();
  }
}

// A branch created by tee(): tee() of a branch shares state with it, which the polyfill does not.
bool is_tee_branch(const ValuePtr& value) {
  auto* iterator = as<IteratorValue>(value);
  if (iterator == nullptr || iterator->iterator_kind != IteratorKind::Generator) return false;
  return PyUnicode_CompareWithASCIIString(iterator->frame->bytecode->code()->co_name, "tee_branch") == 0;
}

// The original calls a user's __iter__ at once, the polyfill later. Keyword names that start with _ are internal to the
// polyfill.
bool may_polyfill(const CallArgs& args) {
  for (const auto& [name, value] : args.keywords)
    if (PyUnicode_READ_CHAR(name.get(), 0) == '_') return false;
  for (const ValuePtr& value : args.positional)
    if (is_tee_branch(value)) return false;
  for (const ValuePtr& value : args.positional) {
    auto* object = as<ObjectValue>(value);
    bool callable = object != nullptr && (PyFunction_Check(object->object.get()) || PyType_Check(object->object.get()));
    if (has_user_type(value) && !callable) return false;
  }
  return true;
}

// Strings and numbers only: a pure function in Python is evaluated on them in the trace.
bool is_known_call(const CallArgs& args) {
  auto is_known = [](const ValuePtr& value) {
    auto* object = as<ObjectValue>(value);
    return object != nullptr && is_guardable_constant(object->object.get());
  };
  return std::ranges::all_of(args.positional, is_known) &&
         std::ranges::all_of(args.keywords, [&](const auto& keyword) { return is_known(keyword.second); });
}

[[noreturn]] void break_on_disabled(const ValuePtr& callable, PolicyChange change, BorrowedRef reason) {
  std::string context = name_of_callable(callable);
  if (reason && PyUnicode_Check(reason.get())) context += str_cat(" (reason: ", text_of(reason), ")");
  bool frame_only = change == PolicyChange::DisableFrame;
  graph_break(frame_only ? BreakReason::disabled_frame_call : BreakReason::disabled_call, context);
}

// A call of a pre-existing object. Null result: a frame was inlined.
ValuePtr call_object(Tracer& tracer, const ValuePtr& callable, CallArgs& args, ContinuationKind continuation,
                     const ValuePtr& continuation_value) {
  PyObject* object = as<ObjectValue>(callable)->object;
  if (const MarkedCall* marked = find_marked_call(object))
    return call_marked(tracer, callable, *marked, args, continuation, continuation_value);
  if (CallHandler handler = find_call(object)) {
    tracer.values().identity_of(callable);
    return handler(tracer, args);
  }
  if (const OpRow* row = find_op_callable(object)) {
    tracer.values().identity_of(callable);
    return call_op(tracer, *row, args, Py_IS_TYPE(object, &PyMethodDescr_Type) ? CallForm::Method : CallForm::Function);
  }
  if (const OpRow* row = find_in_place_callable(object)) {
    tracer.values().identity_of(callable);
    return call_in_place(tracer, *row, args);
  }
  if (PyFunction_Check(object) && is_pure_call(object) && is_known_call(args)) {
    tracer.values().identity_of(callable);
    if (ValuePtr result = fold_pure_call(tracer, object, args)) return result;
  }
  if (PyFunction_Check(object)) {
    if (as<ObjectValue>(callable)->source == nullptr) graph_break(BreakReason::unguardable_object, "function");
    call_function(tracer, callable, std::move(args), continuation, continuation_value);
    return nullptr;
  }
  if (ValuePtr polyfill = may_polyfill(args) ? find_polyfill(object) : nullptr) {
    tracer.values().identity_of(callable);
    if (!fits_polyfill(tracer, object, args)) graph_break(BreakReason::builtin_call, name_of_callable(callable));
    bool generates =
        (reinterpret_cast<PyCodeObject*>(as<FunctionValue>(polyfill)->code.get())->co_flags & CO_GENERATOR) != 0;
    if (!generates) return call_now(tracer, polyfill, args);
    call_function(tracer, polyfill, std::move(args), continuation, continuation_value);
    return nullptr;
  }
  if (is_pure_call(object)) {
    tracer.values().identity_of(callable);
    if (ValuePtr result = fold_pure_call(tracer, object, args)) return result;
    bool of_tensor = args.positional.size() == 1 && is_tensor(args.positional[0]);
    if (of_tensor && args.keywords.empty())
      if (ValuePtr number = converted_to_number(tracer, object, as<TensorValue>(args.positional[0]))) return number;
    graph_break(of_tensor ? reason_for_builtin(object) : BreakReason::builtin_call, name_of_callable(callable));
  }
  if (Py_IS_TYPE(object, &PyMethodDescr_Type) && find_tensor_type(PyDescr_TYPE(object)) != nullptr)
    return call_tensor_method(tracer, object, args);
  if (PyType_Check(object)) return call_class(tracer, callable, args, continuation, continuation_value);
  if (const WrapperType* wrapper = find_wrapper_type(Py_TYPE(object)))
    return call_wrapper(tracer, callable, *wrapper, args, continuation, continuation_value);
  if (PyWeakref_CheckRef(object)) return call_weak_reference(tracer, callable, args);
  if (is_cached_function(object)) return call_cached(tracer, callable, args);
  if (PyCFunction_Check(object) || Py_IS_TYPE(object, &PyMethodDescr_Type) || Py_IS_TYPE(object, &PyWrapperDescr_Type))
    graph_break(BreakReason::unknown_c_function, name_of_callable(callable));
  return call_through_type(tracer, callable, args, continuation, continuation_value);
}

const OpcodeRegistration registration{
    {Opcode::CALL, call}, {Opcode::CALL_KW, call_kw}, {Opcode::CALL_FUNCTION_EX, call_function_ex}};

}  // namespace

void call(Tracer& tracer, const ValuePtr& callable, CallArgs args, ContinuationKind continuation,
          ValuePtr continuation_value) {
  if (auto* method = as<BoundMethodValue>(callable)) {
    args.positional.insert(args.positional.begin(), method->self);
    return call(tracer, method->function, std::move(args), continuation, continuation_value);
  }
  ValuePtr result;
  switch (callable->kind) {
    case ValueKind::Function:
      return call_function(tracer, callable, std::move(args), continuation, std::move(continuation_value));
    case ValueKind::Object: {
      auto* object = as<ObjectValue>(callable);
      if (Py_IS_TYPE(object->object.get(), &PyMethod_Type) && object->source != nullptr) {
        tracer.values().exact_type(callable);
        ValuePtr function = value_at(tracer, tracer.sources().get(SourceKind::MethodFunction, object->source, nullptr));
        args.positional.insert(args.positional.begin(),
                               value_at(tracer, tracer.sources().get(SourceKind::MethodSelf, object->source, nullptr)));
        return call(tracer, function, std::move(args), continuation, std::move(continuation_value));
      }
      if (call_partial(tracer, callable, args, continuation, continuation_value)) return;
      result = call_object(tracer, callable, args, continuation, continuation_value);
      break;
    }
    case ValueKind::PolicyFunction: {
      auto* wrapper = as<PolicyFunctionValue>(callable);
      const Policy* inside = policy_inside(wrapper->change, tracer.frames().innermost().policy);
      if (inside == nullptr)
        break_on_disabled(callable, wrapper->change, as<ObjectValue>(wrapper->reason)->object.get());
      return call_under(tracer, inside, wrapper->function, args, continuation, continuation_value);
    }
    case ValueKind::Constructed:
      if (call_constructed(tracer, as<ConstructedValue>(callable), args, continuation, continuation_value)) return;
      graph_break(BreakReason::unknown_callable, describe(callable));
    case ValueKind::Instance:
      result = call_through_type(tracer, callable, args, continuation, continuation_value);
      break;
    case ValueKind::Null:
    case ValueKind::Tensor:
    case ValueKind::Sequence:
    case ValueKind::Dict:
    case ValueKind::Set:
    case ValueKind::Slice:
    case ValueKind::Cell:
    case ValueKind::BoundMethod:
    case ValueKind::RaisedPart:
    case ValueKind::Iterator:
    case ValueKind::Super:
    case ValueKind::Number:
    case ValueKind::Computed:
    case ValueKind::DictView:
    case ValueKind::Identity:
    case ValueKind::InstanceDict:
      raise_here();  // not callable
  }
  if (result) apply_continuation(tracer, continuation, continuation_value, std::move(result));
}

// __call__ of an object's class.
ValuePtr call_through_type(Tracer& tracer, const ValuePtr& callable, CallArgs& args, ContinuationKind continuation,
                           const ValuePtr& continuation_value) {
  static PyObject* const kCall = PyUnicode_InternFromString("__call__");
  PyTypeObject* type = tracer.values().exact_type(callable);
  if (type->tp_call == nullptr) raise_here();
  ValuePtr method = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ? type_attribute(tracer, callable, kCall) : nullptr;
  if (!method || !is_python_function(method)) graph_break(BreakReason::unknown_callable, type->tp_name);
  args.positional.insert(args.positional.begin(), callable);
  inline_function(tracer, method, std::move(args), continuation, continuation_value);
  return nullptr;
}

// A compiled or disabled function, or one with a policy: returns its Python function and the policy inside.
ValuePtr open_wrapper(Tracer& tracer, const ValuePtr& callable, const WrapperType& wrapper, const Policy*& inside) {
  PyObject* object = tracer.values().identity_of(callable);
  inside = wrapper.policy_inside(object, tracer.frames().innermost().policy);
  if (inside == nullptr && !is_policy_function(object))
    graph_break(BreakReason::disabled_call, name_of_callable(callable));
  if (inside == nullptr) break_on_disabled(callable, policy_change(object), disable_reason(object));
  BorrowedRef inner = wrapper.inner(object);
  const Source* outer = as<ObjectValue>(callable)->source;
  if (!inner || outer == nullptr) graph_break(BreakReason::unknown_callable, describe(callable));
  // The wrapper is guarded by identity, and the function that it wraps never changes.
  return value_at(tracer, tracer.sources().get(SourceKind::WrappedFunction, outer, nullptr), Ref::share(inner));
}

ValuePtr call_wrapper(Tracer& tracer, const ValuePtr& callable, const WrapperType& wrapper, CallArgs& args,
                      ContinuationKind continuation, const ValuePtr& continuation_value) {
  const Policy* inside = nullptr;
  ValuePtr function = open_wrapper(tracer, callable, wrapper, inside);
  call_under(tracer, inside, function, args, continuation, continuation_value);
  return nullptr;
}

void call_under(Tracer& tracer, const Policy* inside, const ValuePtr& function, CallArgs& args,
                ContinuationKind continuation, const ValuePtr& continuation_value) {
  size_t depth = tracer.frames().depth();
  call(tracer, function, std::move(args), continuation, continuation_value);
  if (tracer.frames().depth() > depth) tracer.frames().innermost().policy = inside;
}

}  // namespace md
