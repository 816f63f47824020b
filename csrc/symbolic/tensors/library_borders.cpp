#include "symbolic/tensors/library_borders.h"

#include <algorithm>

#include "frontends/tensor_language.h"
#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/tensors/tensor_ops.h"
#include "tensor/memory_overlap.h"

namespace md {
namespace {

// Whether an object of the library may be over memory that lies so.
bool takes_layout(const TensorFamily& family, const TensorSpec& spec) {
  if (spec.requires_grad || !family.dtype_object(spec.dtype) || has_expanded_dim(spec)) return false;
  return std::ranges::none_of(spec.strides.span(),
                              [](Dim stride) { return !stride.is_symbolic() && stride.value() < 0; });
}

bool may_be_written(Tracer& tracer, const TensorValue& tensor) {
  if (tensor.has_view(kReadOnly)) return false;
  const Source* owner = tensor.source != nullptr ? tensor.source
                        : tensor.base != nullptr ? tensor.base->source
                                                 : nullptr;
  if (owner == nullptr) return true;
  const ValuePtr input = tracer.values().find(owner);
  auto* known = as<TensorValue>(input);
  tracer.values().guard_tensor(known);
  tracer.guards().writable(owner);
  return known->family->is_writable(known->object);
}

}  // namespace

ValuePtr in_library(Tracer& tracer, const ValuePtr& value, const LibraryConversion& conversion) {
  auto* tensor = as<TensorValue>(value);
  const TensorFamily& target = *conversion.to;
  tracer.values().guard_tensor(tensor);
  if (holds_scalars(*tensor->family) || !takes_layout(target, tensor->spec) || !may_be_written(tracer, *tensor))
    graph_break(BreakReason::tensor_export, str_cat("to ", target.name, " of what it does not share"));
  check_state(tracer, target);
  tracer.builder().note_family(target);
  auto made = make_value<TensorValue>(tracer.builder().graph_value(tensor), tensor->spec, target);
  made->share(tracer.builder().base_of(tensor));
  made->views = tensor->views;
  made->version = made->base->version;
  made->converted_step = tracer.step_number();
  made->converted_from = value;
  made->converter = tracer.values().constant(BorrowedRef(conversion.function));
  return made;
}

CallArgs with_kin(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  auto* tensor = args.positional.empty() ? nullptr : as<TensorValue>(args.positional[0]);
  if (tensor == nullptr || are_kin(*tensor->family, *callable.family)) return args;
  const LibraryConversion* conversion = find_library_conversion(*tensor->family, *callable.family);
  if (conversion == nullptr) return args;
  CallArgs kin = args;
  kin.positional[0] = in_library(tracer, args.positional[0], *conversion);
  return kin;
}

}  // namespace md
