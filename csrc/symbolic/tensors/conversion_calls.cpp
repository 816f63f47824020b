#include "symbolic/tensors/conversion_calls.h"

#include "frontends/memory_format_object.h"
#include "guards/guarded_ref.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/tensors/tensor_ops.h"
#include "tensor/shapes/memory_format.h"

namespace md {

namespace {

// The argument for the eager parser: another tensor is replaced by its dtype, the only property that matters.
Ref plain_argument(Tracer& tracer, const TensorFamily& family, std::string_view method, const ValuePtr& value) {
  if (auto* other = as<TensorValue>(value)) {
    tracer.values().guard_tensor(other);
    return Ref::share(default_family().dtype_object(other->spec.dtype));
  }
  if (Ref constant = constant_of(tracer, value)) return own_object(family, constant);
  auto* object = as<ObjectValue>(value);
  if (object == nullptr || !can_hold_strongly(object->object.get()))
    graph_break(BreakReason::tensor_operands, str_cat(method, ": ", describe(value)));
  return own_object(family, tracer.values().identity_of(value));
}

Conversion parse_to(Tracer& tracer, const TensorFamily& family, const TensorSpec& spec, const CallArgs& args) {
  static PyObject* const kDType = PyUnicode_InternFromString("dtype");
  std::vector<Ref> held;
  std::vector<PyObject*> plain;
  auto add = [&](const ValuePtr& value) {
    plain.push_back(held.emplace_back(plain_argument(tracer, family, "to", value)).get());
  };
  for (size_t i = 1; i < args.positional.size(); ++i) add(args.positional[i]);
  Ref names = check(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size())));
  for (size_t i = 0; i < args.keywords.size(); ++i) {
    const auto& [name, value] = args.keywords[i];
    add(value);
    bool is_other = as<TensorValue>(value) != nullptr && PyUnicode_CompareWithASCIIString(name, "other") == 0;
    PyTuple_SET_ITEM(names.get(), i, Py_NewRef(is_other ? kDType : name.get()));
  }
  return parse_to_call(spec, plain, args.keywords.empty() ? nullptr : names.get());
}

Conversion conversion(Tracer& tracer, const ConversionMethod& method, const TensorValue& tensor, const CallArgs& args) {
  const TensorSpec& spec = tensor.spec;
  if (method.form == ConversionMethod::Form::To) return parse_to(tracer, *tensor.family, spec, args);
  bool with_keywords = !args.keywords.empty();
  if (method.form == ConversionMethod::Form::TypeAs) {
    auto* other = args.positional.size() == 2 && !with_keywords ? as<TensorValue>(args.positional[1]) : nullptr;
    if (other == nullptr) refuse_arguments(*tensor.family, method.name);
    tracer.values().guard_tensor(other);
    return {.dtype = other->spec.dtype};
  }
  Conversion wanted{.dtype = method.dtype.value_or(spec.dtype)};
  if (args.positional.size() > 1 || args.keywords.size() > 1) refuse_arguments(*tensor.family, method.name);
  for (const auto& [name, value] : args.keywords) {
    if (PyUnicode_CompareWithASCIIString(name, "memory_format") != 0) refuse_arguments(*tensor.family, method.name);
    set_memory_format(wanted, method.name, plain_argument(tracer, *tensor.family, method.name, value));
  }
  return wanted;
}

// Converts the tensor to a memory format; returns it unchanged if it already has the dtype and format.
ValuePtr in_memory_format(Tracer& tracer, TensorValue* tensor, ValuePtr value, const Conversion& wanted) {
  static PyObject* const kMemoryFormat = PyUnicode_InternFromString("memory_format");
  static const OpRow *const cast = find_op("cast"), *const clone = find_op("clone");
  bool same = wanted.dtype == tensor->spec.dtype;
  if (same && !wanted.copy && suggested_format(tensor->spec) == wanted.memory_format) return value;
  if (!same)
    value = call_op(tracer, *cast, {{value, tracer.values().constant(tensor->family->dtype_object(wanted.dtype))}, {}},
                    CallForm::Method);
  ValuePtr format = tracer.values().constant(memory_format_object(wanted.memory_format));
  return call_op(tracer, *clone, {{value}, {{Ref::share(kMemoryFormat), format}}}, CallForm::Method);
}

}  // namespace

ValuePtr call_conversion(Tracer& tracer, const ConversionMethod& method, TensorValue* tensor, const CallArgs& args) {
  tracer.values().guard_tensor(tensor);
  Conversion wanted;
  try {
    wanted = conversion(tracer, method, *tensor, args);
  } catch (const Error&) {
    refuse_arguments(*tensor->family, method.name);
  } catch (const PythonError&) {
    refuse_arguments(*tensor->family, method.name);
  }
  const ValuePtr& self = args.positional[0];
  if (!wanted.memory_format.empty()) return in_memory_format(tracer, tensor, self, wanted);
  static const OpRow* const cast = find_op("cast");
  static const OpRow* const clone = find_op("clone");
  if (wanted.dtype != tensor->spec.dtype)
    return call_op(tracer, *cast, {{self, tracer.values().constant(tensor->family->dtype_object(wanted.dtype))}, {}},
                   CallForm::Method);
  return wanted.copy ? call_op(tracer, *clone, {{self}, {}}, CallForm::Method) : self;
}

}  // namespace md
