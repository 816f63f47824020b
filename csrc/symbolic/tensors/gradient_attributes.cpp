#include "symbolic/tensors/gradient_attributes.h"

#include <algorithm>

#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/value_facts.h"

namespace md {
namespace {

[[noreturn]] void refuse(const char* what) { graph_break(BreakReason::tensor_attribute, what); }

const Source* source_of_gradient(Tracer& tracer, const TensorValue& tensor) {
  return tracer.sources().get(SourceKind::Gradient, tensor.source, nullptr);
}

void note_touched(Tracer& tracer, const ValuePtr& value, bool is_stored) {
  auto* tensor = as<TensorValue>(value);
  if (tensor->gradient_read && (tensor->gradient || !is_stored)) return;
  for (const ValuePtr& each : tracer.builder().gradient_runs().touched()) {
    auto* other = as<TensorValue>(each);
    if (other != tensor && (is_stored || other->gradient)) require_distinct(tracer, *tensor, *other);
  }
  if (!tensor->gradient_read) tracer.builder().gradient_runs().touched().push_back(value);
  tensor->gradient_read = true;
}

}  // namespace

void require_distinct(Tracer& tracer, const TensorValue& tensor, const TensorValue& other) {
  if (tensor.object.get() == other.object.get()) throw SharedTensorSignal{};
  tracer.guards().alias(tensor.source, other.source, false);
}

void require_plain_leaf(Tracer& tracer, const TensorValue& tensor) {
  if (tensor.source == nullptr || tensor.family->gradients == nullptr) refuse("grad of a tensor that is no leaf");
  const Source* source = source_of_gradient(tracer, tensor);
  if (!fetch(source, tracer.values().view())) refuse("grad of a tensor that is no leaf, or has hooks");
  tracer.guards().present(source);
}

ValuePtr gradient_attribute(Tracer& tracer, const ValuePtr& value) {
  auto* tensor = as<TensorValue>(value);
  if (tensor->gradient) return tensor->gradient;
  if (tensor->source == nullptr) {
    if (tensor->spec.requires_grad) refuse("grad");
    return tracer.values().none();
  }
  require_plain_leaf(tracer, *tensor);
  note_touched(tracer, value, false);
  return value_at(tracer, source_of_gradient(tracer, *tensor));
}

void put_gradient(Tracer& tracer, const ValuePtr& value, ValuePtr gradient) {
  auto* tensor = as<TensorValue>(value);
  note_touched(tracer, value, true);
  static PyObject* const name = PyUnicode_InternFromString("grad");
  if (tensor->gradient && !tracer.effects().is_shown(tensor->gradient_effect))
    tracer.effects().undo(tensor->gradient_effect);
  tensor->gradient_effect = tracer.effects().log().size();
  tracer.effects().add({EffectKind::GradientSet, value, tracer.values().constant(name), gradient});
  tensor->gradient = std::move(gradient);
}

void store_gradient(Tracer& tracer, const ValuePtr& value, const ValuePtr& gradient) {
  auto* tensor = as<TensorValue>(value);
  if (tensor->source == nullptr || tensor->family->gradients == nullptr) refuse("grad is set");
  tracer.values().guard_tensor(tensor);
  if (auto* given = as<TensorValue>(gradient)) {
    bool fits = given->family == tensor->family && given != tensor && given->spec.dtype == tensor->spec.dtype &&
                given->spec.rank() == tensor->spec.rank();
    for (int dim = 0; fits && dim < given->spec.rank(); ++dim)
      fits = known_equal(given->spec.sizes[dim], tensor->spec.sizes[dim]);
    if (!fits) raise_here();
    tracer.values().guard_tensor(given);
  } else if (!same_object(tracer, gradient, tracer.values().none())) {
    raise_here();
  }
  put_gradient(tracer, value, gradient);
}

ValuePtr grad_node_attribute(Tracer& tracer, const ValuePtr& value) {
  auto* tensor = as<TensorValue>(value);
  if (tensor->spec.requires_grad) require_plain_leaf(tracer, *tensor);
  return tracer.values().none();
}

ValuePtr leaf_attribute(Tracer& tracer, const ValuePtr& value) {
  auto* tensor = as<TensorValue>(value);
  bool is_computed = tensor->spec.requires_grad && tensor->source == nullptr;
  if (tensor->spec.requires_grad && !is_computed) require_plain_leaf(tracer, *tensor);
  return tracer.values().boolean(!is_computed);
}

}  // namespace md
