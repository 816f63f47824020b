#include "autograd/saved_tensor.h"

#include <vector>

#include "autograd/grad_history.h"
#include "base/error.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

using HookStack = std::vector<std::unique_ptr<SavedTensorHooks>>;

// Whether a thread has ever had hooks: before it none is asked.
std::atomic<bool> hooks_in_use{false};

HookStack& hook_stack() {
  thread_local HookStack stack;
  return stack;
}

}  // namespace

void push_saved_tensor_hooks(std::unique_ptr<SavedTensorHooks> hooks) {
  hooks_in_use.store(true, std::memory_order_relaxed);
  hook_stack().push_back(std::move(hooks));
}

void pop_saved_tensor_hooks() {
  if (!hook_stack().empty()) hook_stack().pop_back();
}

bool has_saved_tensor_hooks() { return hooks_in_use.load(std::memory_order_relaxed) && !hook_stack().empty(); }

SavedTensor::SavedTensor(const Tensor& tensor, bool is_result, int output) : is_result_(is_result), output_(output) {
  if (!tensor.defined()) return;
  if (tensor->kind() != TensorKind::Real) {
    tensor_ = tensor;
    return;
  }
  version_ = tensor->version();
  bool is_plain_leaf = !is_result && tensor.requires_grad() && is_leaf(tensor);
  tensor_ = is_plain_leaf ? tensor : alias_with_edge(tensor, is_result ? GradEdge{} : edge_of(tensor));
  if (has_saved_tensor_hooks()) pack_by(*hook_stack().back());
}

void SavedTensor::pack_by(SavedTensorHooks& hooks) {
  if (packed_ != nullptr)
    raise(ErrorKind::Runtime, "Calling register_hooks on a saved tensor with existing hooks is not permitted.");
  if (!tensor_.defined())
    raise(ErrorKind::Runtime, "Calling register_hooks on a saved tensor whose value is None is not permitted");
  GradModeScope scope(false);
  packed_ = hooks.packed(tensor_);
  if (tensor_->version() != version_)
    raise(ErrorKind::Runtime,
          "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
          "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you "
          "need to "
          "perform in-place operations on the input to a pack hook.");
  edge_ = edge_of(tensor_);
  tensor_ = {};
}

Tensor SavedTensor::unpacked(GradNode* node) const {
  if (packed_ != nullptr) return with_history(packed_->unpacked(), node);
  if (!tensor_.defined() || tensor_->kind() != TensorKind::Real) return tensor_;
  check_version(node);
  return is_result_ ? with_history(tensor_, node) : tensor_;
}

Tensor SavedTensor::with_history(const Tensor& tensor, GradNode* node) const {
  if (!is_result_) return edge_.node ? alias_with_edge(tensor, edge_) : tensor;
  bool records = node != nullptr && tensor_modes().grad_enabled && is_inexact(tensor->dtype());
  return records ? alias_with_edge(tensor, {node->shared_from_this(), output_}) : tensor;
}

void SavedTensor::check_version(const GradNode* node) const {
  if (tensor_->version() == version_) return;
  GradNodePtr maker = is_result_ ? nullptr : node_of(tensor_);
  const GradNode* made_by = is_result_ ? node : maker.get();
  std::string origin;
  if (made_by != nullptr)
    origin = str_cat(", which is output ", is_result_ ? output_ : history_of(tensor_)->edge.index, " of ",
                     made_by->op_name(), ",");
  const char* hint =
      node_observer.load(std::memory_order_relaxed) == nullptr
          ? "enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False)."
          : "the backtrace further above shows the operation that failed to compute its gradient. The variable "
            "in question was changed in there or anywhere later. Good luck!";
  raise(ErrorKind::Runtime,
        "one of the variables needed for gradient computation has been modified by an inplace operation: [", "torch.",
        row(tensor_->dtype()).names.torch, " ", list_str(tensor_.spec().sizes.span()), "]", origin, " is at version ",
        tensor_->version(), "; expected version ", version_, " instead. Hint: ", hint);
}

}  // namespace md
