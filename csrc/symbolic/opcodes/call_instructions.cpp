// Calls of all forms, and dispatch on the callable.
#include "cpython/text.h"
#include "guards/cached_calls.h"
#include "guards/constants.h"
#include "guards/guarded_ref.h"
#include "guards/wrapper_callables.h"
#include "snapshot/policy_function.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/builtins/pure_calls.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/marked_calls.h"
#include "symbolic/calls/polyfills.h"
#include "symbolic/calls/slot_calls.h"
#include "symbolic/facts/mapping_proxies.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/facts/weak_references.h"
#include "symbolic/tensors/tensor_callables.h"
#include "symbolic/tensors/traced_calls.h"
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

// int(x), str(x) ... of a tensor.
BreakReason reason_for_builtin(BorrowedRef callable) {
  for (PyTypeObject* type : {&PyLong_Type, &PyFloat_Type, &PyComplex_Type})
    if (callable.get() == reinterpret_cast<PyObject*>(type)) return BreakReason::tensor_to_number;
  bool is_text = callable.get() == reinterpret_cast<PyObject*>(&PyUnicode_Type);
  return is_text ? BreakReason::tensor_format : BreakReason::builtin_call;
}

// A branch created by tee(): tee() of a branch shares state with it, which the polyfill does not.
bool is_tee_branch(const ValuePtr& value) {
  auto* iterator = as<IteratorValue>(value);
  if (iterator == nullptr || iterator->iterator_kind != IteratorKind::Generator) return false;
  return PyUnicode_CompareWithASCIIString(iterator->frame->bytecode->code()->co_name, "tee_branch") == 0;
}

// The original calls a user's __iter__ at once, the polyfill later. Keyword names that start with _ are internal to the
// polyfill.
bool may_polyfill(BorrowedRef callable, const CallArgs& args) {
  for (const auto& [name, value] : args.keywords)
    if (PyUnicode_READ_CHAR(name.get(), 0) == '_') return false;
  for (const ValuePtr& value : args.positional)
    if (is_tee_branch(value)) return false;
  if (takes_user_objects(callable)) return true;
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

// A pre-existing method of an object of a built-in type ([].append), which is guarded by identity. Null: another
// object.
ValuePtr method_of_builtin(Tracer& tracer, const ValuePtr& callable) {
  auto* known = as<ObjectValue>(callable);
  if (!PyCFunction_CheckExact(known->object.get())) return nullptr;
  auto* function = reinterpret_cast<PyCFunctionObject*>(known->object.get());
  PyObject* self = function->m_self;
  if (self == nullptr || PyModule_Check(self) || PyType_Check(self) ||
      PyType_HasFeature(Py_TYPE(self), Py_TPFLAGS_HEAPTYPE))
    return nullptr;
  Ref name = check(PyUnicode_InternFromString(function->m_ml->ml_name));
  PyObject* descriptor = _PyType_Lookup(Py_TYPE(self), name);
  if (descriptor == nullptr || !Py_IS_TYPE(descriptor, &PyMethodDescr_Type) ||
      reinterpret_cast<PyMethodDescrObject*>(descriptor)->d_method != function->m_ml)
    return nullptr;
  tracer.values().identity_of(callable);
  ValuePtr of = known->source == nullptr
                    ? tracer.values().constant(self)
                    : value_at(tracer, tracer.sources().get(SourceKind::MethodSelf, known->source, nullptr));
  return make_value<BoundMethodValue>(tracer.values().constant(descriptor), of);
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
  if (const TensorCallable* known = find_tensor_callable(object)) {
    tracer.values().identity_of(callable);
    return call_tensor_callable(tracer, *known, args);
  }
  if (const TensorFamily* family = family_of_opaque(object)) {
    tracer.values().identity_of(callable);
    return call_opaque(tracer, *family, object, args);
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
  if (ValuePtr polyfill = may_polyfill(object, args) ? find_polyfill(object) : nullptr) {
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
  if (PyType_Check(object)) return call_class(tracer, callable, args, continuation, continuation_value);
  if (const WrapperType* wrapper = find_wrapper_type(Py_TYPE(object)))
    return call_wrapper(tracer, callable, *wrapper, args, continuation, continuation_value);
  if (PyWeakref_CheckRef(object)) return call_weak_reference(tracer, callable, args);
  if (is_cached_function(object)) return call_cached(tracer, callable, args);
  if (ValuePtr bound = method_of_builtin(tracer, callable)) {
    call(tracer, bound, std::move(args), continuation, continuation_value);
    return nullptr;
  }
  if (ValuePtr result = call_slot(tracer, callable, args)) return result;
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

// Its type, and its name where none of the program's code tells it: "numpy.ufunc frexp".
std::string named_callable(const ValuePtr& callable, PyTypeObject* type) {
  auto* object = as<ObjectValue>(callable);
  if (object == nullptr || PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return type->tp_name;
  Ref name = Ref::steal(PyObject_GetAttrString(object->object.get(), "__name__"));
  if (!name) PyErr_Clear();
  return name && PyUnicode_Check(name.get()) ? str_cat(type->tp_name, " ", text_of(name)) : type->tp_name;
}

// __call__ of an object's class.
ValuePtr call_through_type(Tracer& tracer, const ValuePtr& callable, CallArgs& args, ContinuationKind continuation,
                           const ValuePtr& continuation_value) {
  static PyObject* const kCall = PyUnicode_InternFromString("__call__");
  PyTypeObject* type = tracer.values().exact_type(callable);
  if (type->tp_call == nullptr) raise_here();
  ValuePtr method = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ? type_attribute(tracer, callable, kCall) : nullptr;
  if (!method || !is_python_function(method))
    graph_break(BreakReason::unknown_callable, named_callable(callable, type));
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
