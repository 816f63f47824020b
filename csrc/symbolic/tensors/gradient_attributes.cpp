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

bool is_new_leaf(Tracer& tracer, const TensorValue& tensor) {
  return tensor.source == nullptr && tracer.builder().gradient_runs().new_leaf(tensor.ref) != nullptr;
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
    if (tensor->spec.requires_grad && !is_new_leaf(tracer, *tensor)) refuse("grad");
    return tracer.values().none();
  }
  require_plain_leaf(tracer, *tensor);
  note_touched(tracer, value, false);
  return value_at(tracer, source_of_gradient(tracer, *tensor));
}

void put_gradient(Tracer& tracer, const ValuePtr& value, ValuePtr gradient) {
  auto* tensor = as<TensorValue>(value);
  if (tensor->source == nullptr) {
    tensor->gradient = std::move(gradient);
    return;
  }
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

void make_leaf(Tracer& tracer, const ValuePtr& value) {
  static const OpRow* const alias = find_op("alias");
  auto* tensor = as<TensorValue>(value);
  GraphBuilder& builder = tracer.builder();
  bool is_computed = tensor->source == nullptr && tensor->converted_step == 0 && tensor->family->gradients != nullptr;
  if (!is_computed || builder.modes(*tensor->family).inference)
    graph_break(BreakReason::tensor_method, "requires_grad_ that changes the flag");
  if (!is_inexact(tensor->spec.dtype)) raise_here();
  ValueRef leaf = {builder.add_op(*alias, {builder.graph_value(tensor)}), 0};
  leaf.node->outs[0].spec.requires_grad = tensor->spec.requires_grad = true;
  builder.gradient_runs().note_new_leaf({value, leaf, tensor->base, tracer.step_number()});
  tensor->leave_base();
  tensor->views.clear();
  tensor->version = 0;
  tensor->ref = leaf;
}

ValuePtr grad_node_attribute(Tracer& tracer, const ValuePtr& value) {
  auto* tensor = as<TensorValue>(value);
  if (tensor->spec.requires_grad && !is_new_leaf(tracer, *tensor)) require_plain_leaf(tracer, *tensor);
  return tracer.values().none();
}

ValuePtr leaf_attribute(Tracer& tracer, const ValuePtr& value) {
  auto* tensor = as<TensorValue>(value);
  if (is_new_leaf(tracer, *tensor)) return tracer.values().boolean(true);
  bool is_computed = tensor->spec.requires_grad && tensor->source == nullptr;
  if (tensor->spec.requires_grad && !is_computed) require_plain_leaf(tracer, *tensor);
  return tracer.values().boolean(!is_computed);
}

}  // namespace md
