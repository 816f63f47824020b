#include "symbolic/tensors/tensor_callables.h"

#include <algorithm>
#include <utility>

#include "frontends/dtype_object.h"
#include "frontends/tensor_facts.h"
#include "guards/guard_set.h"
#include "guards/guarded_ref.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/size_methods.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/tensors/conversion_calls.h"
#include "symbolic/tensors/family_border.h"
#include "symbolic/tensors/gradient_attributes.h"
#include "symbolic/tensors/known_tensors.h"
#include "symbolic/tensors/library_borders.h"
#include "symbolic/tensors/result_layouts.h"
#include "symbolic/tensors/sequence_operands.h"
#include "symbolic/tensors/tensor_numbers.h"
#include "symbolic/tensors/tensor_ops.h"
#include "symbolic/tensors/tensor_parts.h"
#include "symbolic/tensors/tensor_writes.h"
#include "symbolic/tensors/traced_calls.h"
#include "tensor/memory_overlap.h"

namespace md {
namespace {

constexpr BreakReason kReasons[] = {
#define MD_TENSOR_REFUSAL(name, reason, doc) BreakReason::reason,
#include "frontends/tensor_refusals.def"
#undef MD_TENSOR_REFUSAL
};

[[noreturn]] void refuse(const TensorCallable& callable) {
  graph_break(kReasons[static_cast<size_t>(callable.refusal)], std::string(callable.name));
}

const TensorValue* first_tensor(std::span<const ValuePtr> values) {
  for (const ValuePtr& value : values)
    if (auto* tensor = as<TensorValue>(value)) return tensor;
  return nullptr;
}

// The library's function is called, which raises.
void refuse_dtypes(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  auto refuse_one = [&](DType dtype, uint32_t refused) {
    if ((refused >> static_cast<int>(dtype) & 1u) != 0)
      graph_break(BreakReason::unknown_c_function, str_cat(callable.name, " of ", row(dtype).name));
  };
  const TensorValue* tensor = first_tensor(args.positional);
  for (const auto& [name, value] : args.keywords)
    if (tensor == nullptr) tensor = as<TensorValue>(value);
  if (tensor != nullptr) refuse_one(tensor->spec.dtype, callable.refused);
  const ValuePtr* asked = callable.refused_results != 0 ? args.keyword("dtype") : nullptr;
  if (asked == nullptr) return;
  Ref dtype = own_object(*callable.family, tracer.values().identity_of(*asked));
  if (dtype_from_python(dtype)) refuse_one(*dtype_from_python(dtype), callable.refused_results);
}

// A function of one library with tensors of another: the library converts, or raises.
void refuse_strangers(const TensorCallable& callable, const CallArgs& args) {
  for_each_argument(args, [&](const ValuePtr& value) {
    auto* tensor = as<TensorValue>(value);
    if (tensor != nullptr && !are_kin(*tensor->family, *callable.family))
      graph_break(BreakReason::tensor_operands, str_cat(callable.name, " of a tensor of ", tensor->family->name));
  });
}

// Operands alone, and `out` as one tensor.
bool takes_arguments(const OpRow& row, const CallArgs& args) {
  auto operands = std::ranges::count_if(row.schema.params, [](const Param& param) { return param.promotes; });
  if (args.positional.size() > static_cast<size_t>(operands)) return false;
  return std::ranges::all_of(args.keywords, [&](const auto& keyword) {
    bool is_out = PyUnicode_CompareWithASCIIString(keyword.first, "out") == 0;
    return is_out && row.takes_out() && is_tensor(keyword.second);
  });
}

TensorValue* tensor_in(const CallArgs& args) {
  return args.positional.empty() ? nullptr : as<TensorValue>(args.positional[0]);
}

// The tensor of a method without further arguments.
TensorValue* lone_tensor(const TensorCallable& callable, const CallArgs& args) {
  TensorValue* tensor = tensor_in(args);
  if (tensor == nullptr || args.positional.size() != 1 || !args.keywords.empty()) refuse(callable);
  return tensor;
}

// What follows from sizes alone, of a tensor with symbolic ones. Null: another fact, or a call that raises.
ValuePtr symbolic_fact(Tracer& tracer, const TensorFact& fact, const TensorValue& tensor,
                       std::span<PyObject* const> args) {
  const TensorSpec& spec = tensor.spec;
  if (!any_symbolic(spec.sizes.span()) || fact.sizes == TensorFact::Sizes::Nothing) return nullptr;
  if (fact.sizes == TensorFact::Sizes::Count) return args.empty() ? size_value(tracer, spec.numel()) : nullptr;
  if (fact.sizes == TensorFact::Sizes::Bytes)
    return size_value(tracer, spec.numel() * Dim(static_cast<int64_t>(item_size(spec.dtype))));
  if (args.size() > 1) return nullptr;
  if (args.empty() || args[0] == Py_None) return shape_value(tracer, *tensor.family, spec);
  if (!PyLong_CheckExact(args[0])) return nullptr;
  int overflow = 0;
  int64_t dim = PyLong_AsLongLongAndOverflow(args[0], &overflow);
  if (overflow != 0 || dim < -spec.rank() || dim >= spec.rank()) return nullptr;
  return size_value(tracer, spec.sizes[static_cast<int>(dim < 0 ? dim + spec.rank() : dim)]);
}

// A number, or an object that is the same at every run (a memory format).
Ref fact_argument(Tracer& tracer, const TensorCallable& callable, const ValuePtr& value) {
  if (Ref constant = constant_of(tracer, value)) return constant;
  auto* object = as<ObjectValue>(value);
  if (object == nullptr || !can_hold_strongly(object->object.get())) refuse(callable);
  return Ref::share(tracer.values().identity_of(value));
}

// As the library describes the tensor.
TensorSpec seen_spec(Tracer& tracer, const TensorValue& tensor) {
  TensorSpec spec = tensor.spec;
  spec.requires_grad = spec.requires_grad || tracer.builder().is_leaf_apart(tensor);
  return spec;
}

}  // namespace

// ---- one function for each row of tensor_callables.def ----

namespace tensor_callables {

ValuePtr call_Op(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  CallArgs plain = without_neutral_keywords(tracer, *callable.family, args);
  if (callable.elaborate != nullptr && !takes_arguments(*callable.row, plain)) {
    plain.positional.insert(plain.positional.begin(), tracer.values().constant(BorrowedRef(callable.function)));
    return call_rewritten(tracer, *callable.family, callable.elaborate, plain);
  }
  const std::vector<Param>& params = callable.row->schema.params;
  for (size_t i = 0; i < std::min(params.size(), plain.positional.size()); ++i) {
    ValuePtr& value = plain.positional[i];
    if (!params[i].promotes) continue;
    if (ValuePtr tensor = tensor_of_sequence(tracer, *callable.family, value)) value = tensor;
  }
  return call_op(tracer, *callable.row, plain, callable.form, callable.family);
}

ValuePtr call_InPlaceOp(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  return call_in_place(tracer, *callable.row, args);
}

ValuePtr call_Fact(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  TensorValue* tensor = tensor_in(args);
  if (tensor == nullptr) refuse(callable);
  std::vector<Ref> held;
  std::vector<PyObject*> plain;
  auto add = [&](const ValuePtr& value) {
    Ref argument = fact_argument(tracer, callable, value);
    plain.push_back(held.emplace_back(own_object(*tensor->family, argument)).get());
  };
  for (size_t i = 1; i < args.positional.size(); ++i) add(args.positional[i]);
  for (const auto& [name, value] : args.keywords) add(value);
  Ref names = args.keywords.empty() ? Ref() : args.keyword_names();
  tracer.values().guard_tensor(tensor);
  try {
    ValuePtr size = names ? nullptr : symbolic_fact(tracer, *callable.fact, *tensor, plain);
    if (size) return size;
    Ref result = callable.fact->value(seen_spec(tracer, *tensor), plain, names.get());
    return tracer.values().constant(object_in(*tensor->family, result));
  } catch (const Error&) {
    refuse_arguments(*tensor->family, callable.name);
  } catch (const PythonError&) {
    refuse_arguments(*tensor->family, callable.name);
  }
}

ValuePtr call_Converted(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  const LibraryConversion* conversion = find_library_conversion(callable.function);
  TensorValue* tensor = args.positional.size() == 1 && args.keywords.empty() ? tensor_in(args) : nullptr;
  if (conversion == nullptr || tensor == nullptr || !are_kin(*tensor->family, *conversion->from)) refuse(callable);
  return in_library(tracer, args.positional[0], *conversion);
}

// New memory may be written, and views of what may be, unless they repeat elements. No scalar may be.
ValuePtr call_Writable(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  TensorValue* tensor = tensor_in(args);
  if (tensor == nullptr || args.positional.size() != 1) refuse(callable);
  auto is_writable = [&](const ValuePtr& owner) {
    auto* known = as<TensorValue>(owner);
    tracer.values().guard_tensor(known);
    return known->family->is_writable(known->object);
  };
  if (tensor->source != nullptr) return tracer.values().boolean(is_writable(args.positional[0]));
  if (holds_scalars(*tensor->family)) return tracer.values().boolean(false);
  const TensorBase* base = tensor->views.empty() ? nullptr : tensor->base.get();
  bool may = base == nullptr || base->source == nullptr || is_writable(tracer.values().find(base->source));
  return tracer.values().boolean(may && !has_expanded_dim(tensor->spec) && !tensor->has_view(kReadOnly));
}

ValuePtr call_Conversion(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  TensorValue* tensor = tensor_in(args);
  if (tensor == nullptr) refuse(callable);
  return call_conversion(tracer, *callable.conversion, tensor, args);
}

ValuePtr call_Element(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  TensorValue* tensor = lone_tensor(callable, args);
  if (captures_numbers(tracer)) return number_of(tracer, tensor);
  Ref known = known_number(tracer, tensor);
  if (!known) refuse(callable);
  return tracer.values().constant(std::move(known));
}

ValuePtr call_Elements(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  TensorValue* tensor = lone_tensor(callable, args);
  if (captures_numbers(tracer)) return numbers_of(tracer, tensor);
  ValuePtr known = known_elements(tracer, tensor);
  if (!known) refuse(callable);
  return known;
}

ValuePtr call_StandIn(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  if (callable.as_it_is == nullptr) return call_stand_in(tracer, callable, args);
  if (tracer.is_declined_operator()) return call_opaque(tracer, *callable.family, callable.as_it_is, args);
  OperatorSite site{tracer.frames().innermost().bytecode, tracer.frames().innermost().index};
  try {
    return call_stand_in(tracer, callable, args);
  } catch (const BreakSignal&) {
    throw DeclinedSignal{site};
  } catch (const RestartSignal&) {
    throw DeclinedSignal{site};
  }
}

ValuePtr call_Rewritten(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  if (callable.writes_self) check_stand_in_writes(tracer, callable, args);
  GraphBuilder::CountsWrites counts(tracer.builder(), callable.counts_writes);
  return call_rewritten(tracer, *callable.family, callable.function, args);
}

namespace {

ValuePtr call_library(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  if (callable.self_type == nullptr) return call_opaque(tracer, *callable.family, callable.function, args);
  auto* self = args.positional.empty() ? nullptr : as<ObjectValue>(args.positional[0]);
  bool is_known = self != nullptr && self->source != nullptr && self->object.type() == callable.self_type;
  if (!is_known) refuse(callable);
  tracer.values().exact_type(args.positional[0]);
  CallArgs others = args;
  others.positional.erase(others.positional.begin());
  return call_opaque(tracer, *callable.family, callable.function, others, self->source);
}

}  // namespace

ValuePtr call_HostCall(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  size_t first = tracer.graph().nodes().size();
  ValuePtr result = call_library(tracer, callable, args);
  for (size_t i = first; i < tracer.graph().nodes().size(); ++i) {
    const Node* node = tracer.graph().nodes()[i].get();
    bool has_history = std::ranges::any_of(node->outs, [](const ValueInfo& info) { return info.spec.requires_grad; });
    if (is_op(*node, OpKind::HostCall) && !has_history) tracer.builder().gradient_runs().note_without_gradients(node);
  }
  return result;
}

ValuePtr call_Sizes(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  return make_sizes(tracer, callable.family->size_type(), args);
}

ValuePtr call_CountOfSizes(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  return count_of_sizes(tracer, callable.family->size_type(), args);
}

ValuePtr call_State(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  if (!args.is_empty()) raise_here();
  tracer.guards().global_state(*callable.family);
  return tracer.values().constant(callable.answer());
}

ValuePtr call_Asked(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  std::vector<Ref> held;
  std::vector<PyObject*> plain;
  for (const ValuePtr& value : args.positional)
    plain.push_back(held.emplace_back(fact_argument(tracer, callable, value)).get());
  for (const auto& [name, value] : args.keywords)
    plain.push_back(held.emplace_back(fact_argument(tracer, callable, value)).get());
  Ref names = args.keyword_names();
  tracer.guards().global_state(*callable.family);
  Ref answer = Ref::steal(PyObject_Vectorcall(callable.function, plain.data(), args.positional.size(), names));
  if (!answer) raise_here();
  return tracer.values().constant(answer);
}

ValuePtr call_Constant(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  for (const ValuePtr& value : args.positional) tracer.values().exact_type(value);
  tracer.guards().global_state(*callable.family);
  return tracer.values().constant(callable.function);
}

// callable.function: the name of the attribute by which a type takes functions over.
ValuePtr call_Overrides(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  tracer.guards().global_state(*callable.family);
  auto check = [&](const ValuePtr& value) {
    PyTypeObject* type = tracer.values().exact_type(value);
    if (!is_tensor(value) && _PyType_Lookup(type, callable.function) != nullptr)
      graph_break(BreakReason::unknown_c_function, str_cat(callable.name, " of a ", describe(value)));
  };
  for (const ValuePtr& value : args.positional) {
    check(value);
    if (auto elements = elements_of(tracer, value))
      std::ranges::for_each(*elements, check);
    else if (!is_tensor(value) && type_of(value)->tp_iter != nullptr && type_of(value) != &PyUnicode_Type)
      graph_break(BreakReason::unknown_c_function, str_cat(callable.name, " of a ", describe(value)));
  }
  return tracer.values().boolean(false);
}

ValuePtr call_GradMode(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  if (!args.is_empty()) raise_here();
  tracer.guards().global_state(*callable.family);
  return tracer.values().boolean(tracer.builder().modes(*callable.family).grad);
}

ValuePtr call_SetGradMode(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  Ref mode = args.positional.size() == 1 && args.keywords.empty() ? constant_of(tracer, args.positional[0]) : Ref();
  if (!mode || !PyBool_Check(mode.get())) raise_here();
  tracer.guards().global_state(*callable.family);
  tracer.builder().modes(*callable.family).grad = mode.get() == Py_True;
  return tracer.values().none();
}

ValuePtr call_AutocastBlock(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  if (!args.is_empty()) raise_here();
  tracer.guards().global_state(*callable.family);
  return tracer.values().integer(tracer.builder().modes(*callable.family).autocast_blocks += callable.blocks);
}

ValuePtr call_Breaks(Tracer&, const TensorCallable& callable, const CallArgs&) { refuse(callable); }

}  // namespace tensor_callables

namespace {

ValuePtr call_of_part(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  auto* part = args.positional.empty() ? nullptr : as<ConstructedValue>(args.positional[0]);
  if (part == nullptr) refuse(callable);
  TensorCallable of_tensor = callable;
  of_tensor.is_of_part = false;
  CallArgs plain = args;
  plain.positional[0] = part->positional[0];
  return call_tensor_callable(tracer, of_tensor, plain);
}

}  // namespace

ValuePtr call_tensor_callable(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  using Handler = ValuePtr (*)(Tracer&, const TensorCallable&, const CallArgs&);
  static constexpr Handler kHandlers[] = {
#define MD_TENSOR_CALLABLE(name, doc) tensor_callables::call_##name,
#include "frontends/tensor_callables.def"
#undef MD_TENSOR_CALLABLE
  };
  if (callable.is_of_part) return call_of_part(tracer, callable, args);
  if (callable.kind == TensorCallableKind::Converted) return tensor_callables::call_Converted(tracer, callable, args);
  if (callable.takes_strangers) {
    TensorCallable own = callable;
    own.takes_strangers = false;
    return call_tensor_callable(tracer, own, with_kin(tracer, callable, args));
  }
  refuse_strangers(callable, args);
  if ((callable.refused | callable.refused_results) != 0) refuse_dtypes(tracer, callable, args);
  return laid_out(tracer, callable, args, kHandlers[static_cast<size_t>(callable.kind)](tracer, callable, args));
}

ValuePtr tensor_attribute(Tracer& tracer, const ValuePtr& value, const TensorAttribute& attribute) {
  auto* tensor = as<TensorValue>(value);
  switch (attribute.kind) {
    case TensorAttribute::Kind::Shape:
      return shape_value(tracer, *tensor->family, tensor->spec);
    case TensorAttribute::Kind::Fact:
      // What the program decides by a count of elements at a mask, say, is specialised to it.
      if (!tracer.shapes().is_unbacked(tensor->spec.numel()))
        if (ValuePtr size = symbolic_fact(tracer, *attribute.fact, *tensor, {})) return size;
      return tracer.values().constant(
          object_in(*tensor->family, attribute.fact->value(seen_spec(tracer, *tensor), {}, nullptr)));
    case TensorAttribute::Kind::View:
      return call_op(tracer, *attribute.row, {{value}, {}}, CallForm::Method);
    case TensorAttribute::Kind::StandIn:
      return call_stand_in(tracer, *attribute.stand_in, {{value}, {}});
    case TensorAttribute::Kind::Part:
      return make_part(tracer, value, attribute);
    case TensorAttribute::Kind::Gradient:
      return gradient_attribute(tracer, value);
    case TensorAttribute::Kind::GradNode:
      return grad_node_attribute(tracer, value);
    case TensorAttribute::Kind::Leaf:
      return leaf_attribute(tracer, value);
    case TensorAttribute::Kind::Constant:
      break;
  }
  return tracer.values().constant(attribute.value);
}

namespace {

// int() and its like of a number; where that raises, the interpreter does.
ValuePtr known_conversion(Tracer& tracer, BorrowedRef type, BorrowedRef number) {
  Ref converted = Ref::steal(PyObject_CallOneArg(type, number));
  if (!converted) raise_here();
  return tracer.values().constant(std::move(converted));
}

}  // namespace

ValuePtr converted_to_number(Tracer& tracer, BorrowedRef callable, TensorValue* tensor) {
  static constexpr std::pair<PyTypeObject*, ScalarOp> kConversions[] = {
      {&PyLong_Type, ScalarOp::Int}, {&PyFloat_Type, ScalarOp::Float}, {&PyBool_Type, ScalarOp::Truth}};
  for (const auto& [type, scalar_op] : kConversions) {
    if (callable.get() != reinterpret_cast<PyObject*>(type)) continue;
    bool is_taken = scalar_op == ScalarOp::Truth || tensor->family->converts_any_rank || tensor->spec.rank() == 0;
    if (!is_taken) return nullptr;
    if (Ref known = known_number(tracer, tensor)) return known_conversion(tracer, callable, known);
    if (captures_numbers(tracer)) return computed(tracer, scalar_op, {number_of(tracer, tensor)});
  }
  return nullptr;
}

}  // namespace md
