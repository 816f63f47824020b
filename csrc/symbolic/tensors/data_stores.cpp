// What is stored is a pending effect; until the exit the tensor is one more view of the data.
//   1. The memory that the tensor had keeps its own value, which views of it made before still read.
//   2. Later writes are counted by the tensor, not by the data, and its gradients go to another shape of history than
//      the graph's: both break.
#include "symbolic/tensors/data_stores.h"

#include "graph/views.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "tensor/memory_overlap.h"

namespace md {
namespace {

[[noreturn]] void refuse(const char* what) {
  graph_break(BreakReason::store_attribute, str_cat("data of a tensor: ", what));
}

// x.data -= y ends so: the memory has been written already.
bool is_own_memory(Tracer& tracer, TensorValue* tensor, TensorValue* data) {
  if (tensor == data) return true;
  if (tensor->base == nullptr || data->base != tensor->base || data->spec.dtype != tensor->spec.dtype) return false;
  return same_view(tracer.builder().strided_view_of(*data), tracer.builder().strided_view_of(*tensor));
}

void require_replaceable(const TensorValue& tensor) {
  if (tensor.source == nullptr || !tensor.views.empty() || tensor.is_replaced) refuse("a computed one");
  if (tensor.base == nullptr) return;
  if (tensor.base->source != tensor.source) refuse("a view");
  if (tensor.base->version > 0) refuse("one that was written in this region");
}

void require_plain_data(GraphBuilder& builder, const TensorValue& tensor, TensorValue& data) {
  if (data.converted_step != 0 || builder.gradient_runs().is_memory_of_new_leaf(*builder.base_of(&data)))
    refuse("of another library's, or a leaf of the region");
  bool fits = data.spec.dtype == tensor.spec.dtype && data.spec.rank() == tensor.spec.rank();
  for (int dim = 0; fits && dim < data.spec.rank(); ++dim)
    fits = known_equal(data.spec.sizes[dim], tensor.spec.sizes[dim]);
  if (!fits) refuse("of other sizes or another dtype");
  if (data.spec.requires_grad || has_expanded_dim(data.spec)) refuse("of a tensor with a history, or expanded");
}

}  // namespace

void store_data(Tracer& tracer, const ValuePtr& value, const ValuePtr& stored) {
  static PyObject* const name = PyUnicode_InternFromString("data");
  auto *tensor = as<TensorValue>(value), *data = as<TensorValue>(stored);
  GraphBuilder& builder = tracer.builder();
  if (data == nullptr || data->family != tensor->family) refuse("of another type");
  tracer.values().guard_tensor(tensor);
  tracer.values().guard_tensor(data);
  if (is_own_memory(tracer, tensor, data)) return;
  if (builder.modes(*tensor->family).inference) refuse("in inference mode");
  require_replaceable(*tensor);
  require_plain_data(builder, *tensor, *data);
  // A backward that has saved the tensor itself would read the new elements.
  if (tensor->ref.node != nullptr) {
    builder.gradient_runs().note_overwritten(tensor->ref);
    builder.gradient_runs().note_hidden_write(tensor->ref);
  }
  tracer.effects().add({EffectKind::DataSet, value, tracer.values().constant(name), stored});
  builder.replace_data(*tensor, data);
}

}  // namespace md
