#include "frontends/autocast.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/grad_history.h"
#include "base/error.h"
#include "frontends/eager.h"
#include "tensor/ops/tensor_args.h"

namespace md {
namespace {

// A parameter in autocast's dtype, valid for as long as nothing has written the parameter.
struct KeptCast {
  Tensor parameter, cast;
  StoragePtr storage;
  uint64_t version;
  bool has_history;
  bool serves(DType dtype, bool wants_history) const {
    return parameter->storage().get() == storage.get() && storage->version() == version && cast->dtype() == dtype &&
           has_history == wants_history;
  }
};
using KeptCasts = std::unordered_map<const TensorImpl*, KeptCast>;

// Of this thread, until autocast is off: one cast serves all uses of a parameter, whose gradients meet there. Of a
// thread that ends before that they leak: memory may be Python's, and no GIL is held by then.
KeptCasts& kept_casts() {
  thread_local auto* casts = new KeptCasts;
  return *casts;
}

bool is_kept(const Tensor& tensor, DType dtype, const AutocastState& state) {
  if (!state.keeps_casts || dtype != state.dtype || tensor->dtype() != DType::float32) return false;
  if (tensor->kind() != TensorKind::Real || !tensor.requires_grad()) return false;
  const GradHistory* history = history_of(tensor);
  return node_of(tensor) == nullptr && (history == nullptr || !history->base.defined());
}

Tensor cast_of(const Tensor& tensor, DType dtype) { return apply_named("cast", {tensor, dtype}); }

Tensor kept_cast(const Tensor& tensor, DType dtype) {
  const TensorModes& modes = tensor_modes();
  bool has_history = modes.grad_enabled && !modes.inference_mode;
  auto found = kept_casts().find(tensor.impl());
  if (found != kept_casts().end() && found->second.serves(dtype, has_history)) return found->second.cast;
  const StoragePtr& storage = tensor->storage();
  KeptCast kept{tensor, cast_of(tensor, dtype), storage, storage->version(), has_history};
  return kept_casts().insert_or_assign(tensor.impl(), std::move(kept)).first->second.cast;
}

void cast_operand(Tensor& tensor, DType dtype, const AutocastState& state) {
  if (!tensor.defined() || tensor->dtype() == dtype || !is_autocast_eligible(tensor->dtype())) return;
  tensor = is_kept(tensor, dtype, state) ? kept_cast(tensor, dtype) : cast_of(tensor, dtype);
}

DType widest_dtype(DType low_precision, std::span<const DType> dtypes) {
  DType widest = low_precision;
  for (DType dtype : dtypes) {
    if (!is_autocast_eligible(dtype)) continue;
    if (dtype == DType::float32 || widest == DType::float32) {
      widest = DType::float32;
    } else if (dtype != low_precision) {
      raise(ErrorKind::Runtime, "Unexpected floating ScalarType in at::autocast::prioritize");
    }
  }
  return widest;
}

}  // namespace

DType autocast_dtype(const OpRow& row, DType low_precision, std::span<const DType> dtypes) {
  if (row.has(kLowPrecision)) return low_precision;
  return row.has(kFullPrecision) ? DType::float32 : widest_dtype(low_precision, dtypes);
}

void autocast_args(const OpRow& row, std::span<Arg> args) {
  const AutocastState& state = tensor_modes().autocast;
  std::vector<DType> dtypes;
  for_each_tensor(args, [&](const Tensor& tensor) { dtypes.push_back(tensor->dtype()); });
  DType target = autocast_dtype(row, state.dtype, dtypes);
  for (Arg& arg : args) {
    if (auto* tensor = std::get_if<Tensor>(&arg)) {
      cast_operand(*tensor, target, state);
    } else if (auto* tensors = std::get_if<std::vector<Tensor>>(&arg)) {
      for (Tensor& element : *tensors) cast_operand(element, target, state);
    }
  }
}

AutocastState exchange_autocast(AutocastState state) {
  if (!state.enabled && tensor_modes().autocast.enabled) drop_kept_casts();
  return std::exchange(tensor_modes().autocast, state);
}

void drop_kept_casts() { kept_casts().clear(); }

}  // namespace md
