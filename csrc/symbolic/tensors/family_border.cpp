#include "symbolic/tensors/family_border.h"

#include <algorithm>
#include <iterator>

#include "frontends/tensor_language.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/tensors/tensor_ops.h"
#include "symbolic/tensors/tensor_writes.h"

namespace md {
namespace {

class Border {
 public:
  Border(Tracer& tracer, const TensorCallable& callable)
      : tracer_(tracer), callable_(callable), family_(*callable.family), returns_arrays_(callable.returns_arrays) {}

  CallArgs inward(const CallArgs& args) {
    CallArgs own;
    for (const ValuePtr& value : args.positional) own.positional.push_back(inward(value));
    for (const auto& [name, value] : args.keywords) own.keywords.emplace_back(name, inward(value));
    return own;
  }

  // Of what the stand-in returns, alone or in tuples and lists.
  ValuePtr outward(const ValuePtr& value) {
    if (auto* tensor = as<TensorValue>(value))
      return are_kin(*tensor->family, family_) ? value : tensor_outward(value, tensor);
    if (auto* sequence = as<SequenceValue>(value)) {
      for (ValuePtr& item : sequence->items) item = outward(item);
      if (sequence->type) sequence->type = face_of(sequence->type);
      return value;
    }
    auto* object = as<ObjectValue>(value);
    return object == nullptr || object->source != nullptr ? value : face_of(value);
  }

 private:
  ValuePtr face_of(const ValuePtr& value) {
    auto* object = as<ObjectValue>(value);
    if (object == nullptr) return value;
    Ref face = object_in(family_, object->object);
    return face.get() == object->object.get() ? value : tracer_.values().constant(face);
  }

  ValuePtr inward(const ValuePtr& value) {
    refuse_complex(value);
    if (auto* tensor = as<TensorValue>(value))
      return are_kin(*tensor->family, family_) ? tensor_inward(value, tensor) : value;
    if (auto* sequence = as<SequenceValue>(value)) return elements_inward(sequence->is_list, sequence->items);
    auto* object = as<ObjectValue>(value);
    if (object == nullptr) return value;
    if (PyTuple_CheckExact(object->object.get()) || PyList_CheckExact(object->object.get())) {
      auto elements = object->source != nullptr ? elements_of(tracer_, value) : nullptr;
      return elements ? elements_inward(PyList_CheckExact(object->object.get()), *elements) : value;
    }
    Ref face = own_object(family_, object->object);
    if (face.get() == object->object.get()) return value;
    tracer_.values().identity_of(value);
    return tracer_.values().constant(face);
  }

  void refuse_complex(const ValuePtr& value) const {
    if (callable_.takes_complex) return;
    auto* tensor = as<TensorValue>(value);
    if (type_of(value) == &PyComplex_Type || (tensor != nullptr && is_complex(tensor->spec.dtype)))
      graph_break(BreakReason::unknown_c_function, str_cat(callable_.name, " of complex numbers"));
  }

  ValuePtr elements_inward(bool is_list, const std::vector<ValuePtr>& elements) {
    std::vector<ValuePtr> own;
    for (const ValuePtr& element : elements) own.push_back(inward(element));
    return make_value<SequenceValue>(is_list, std::move(own));
  }

  // The same tensor under another family: what is written to the one is written to the other.
  ValuePtr tensor_inward(const ValuePtr& value, TensorValue* tensor) {
    for (const auto& [original, own] : passed_)
      if (same_object(tracer_, original, value)) return own;
    check_state(tracer_, family_);
    auto own = make_value<TensorValue>(tracer_.builder().graph_value(tensor), tensor->spec, default_family());
    own->share(tracer_.builder().base_of(tensor));
    own->views = tensor->views;
    own->several_step = tensor->several_step;
    own->is_made_apart = tensor->is_made_apart;
    own->is_replaced = tensor->is_replaced;
    own->version = own->base->version;
    own->converted_step = tensor->converted_step;
    own->converted_from = tensor->converted_from;
    passed_.emplace_back(value, own);
    return own;
  }

  ValuePtr tensor_outward(const ValuePtr& value, TensorValue* tensor) {
    for (const auto& [original, own] : passed_)
      if (own.get() == value.get()) return original;
    // A tensor of ours from outside of the trace.
    if (tensor->source != nullptr) graph_break(BreakReason::tensor_operands, "a constant of a function of ours");
    // No argument was a tensor.
    if (passed_.empty()) check_state(tracer_, family_);
    if (!family_.dtype_object(tensor->spec.dtype))
      graph_break(BreakReason::unknown_c_function, str_cat("a result of dtype ", row(tensor->spec.dtype).name));
    bool is_array = returns_arrays_ || !tensor->views.empty();
    tensor->family = is_array ? &family_ : family_of_result(&family_, tensor->spec.rank());
    return value;
  }

  Tracer& tracer_;
  const TensorCallable& callable_;
  const TensorFamily& family_;
  bool returns_arrays_;
  std::vector<std::pair<ValuePtr, ValuePtr>> passed_;  // {the library's, ours}
};

}  // namespace

CallArgs without_neutral_keywords(Tracer& tracer, const TensorFamily& family, const CallArgs& args) {
  if (args.keywords.empty() || family.neutral_keywords == nullptr) return args;
  auto is_neutral = [&](const auto& keyword) {
    for (const NeutralKeyword& row : family.neutral_keywords()) {
      if (PyUnicode_CompareWithASCIIString(keyword.first, row.name) != 0) continue;
      return same_object(tracer, keyword.second, tracer.values().none()) ||
             same_object(tracer, keyword.second, tracer.values().constant(BorrowedRef(row.value)));
    }
    return false;
  };
  CallArgs kept{args.positional, {}};
  std::ranges::remove_copy_if(args.keywords, std::back_inserter(kept.keywords), is_neutral);
  return kept;
}

ValuePtr call_stand_in(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  if (callable.writes_self) check_stand_in_writes(tracer, callable, args);
  // Of no tensors, too: what it makes of numbers has the dtype of the library.
  tracer.builder().lend_default_dtype(*callable.family);
  Border border(tracer, callable);
  CallArgs own = border.inward(without_neutral_keywords(tracer, *callable.family, args));
  size_t depth = tracer.frames().depth();
  try {
    GraphBuilder::CountsWrites counts(tracer.builder(), callable.counts_writes);
    return border.outward(call_rewritten(tracer, *callable.family, callable.function, own));
  } catch (const RaiseSignal&) {
    // It does not take the arguments: no frame of it was made.
    if (tracer.frames().depth() == depth) refuse_arguments(*callable.family, callable.name);
    throw;
  }
}

ValuePtr call_rewritten(Tracer& tracer, const TensorFamily& family, BorrowedRef function, const CallArgs& args) {
  const Source* source = tracer.sources().get(SourceKind::StandIn, nullptr, nullptr, index_of_stand_in(function));
  ValuePtr stand_in = value_at(tracer, source, Ref::share(function));
  GraphBuilder::OwnModesScope scope(tracer.builder());
  // The library records the operations of a stand-in, or nothing does. Our autocast is not the library's.
  bool records = family.recorder != nullptr && tracer.builder().modes(family).records_gradient();
  GradModes& modes = tracer.builder().modes();
  modes.grad = records;
  modes.autocast.enabled = false;
  PendingCalls::StandInScope stands_in(tracer.pending());
  std::optional<ValuePtr> result = call_catching(tracer, stand_in, args, PyExc_BaseException);
  if (!result) raise_here();
  return *result;
}

}  // namespace md
