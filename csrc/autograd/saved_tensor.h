// A tensor that a node keeps for its backward, and the hooks that may keep something else in its place.
#pragma once
#include <memory>

#include "autograd/grad_node.h"
#include "tensor/tensor.h"

namespace md {

// What a hook keeps instead of a tensor.
class PackedTensor {
 public:
  virtual ~PackedTensor() = default;
  virtual Tensor unpacked() = 0;
};

class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  // Called without grad mode. A result of the node that saves it has no history.
  virtual std::unique_ptr<PackedTensor> packed(const Tensor& tensor) = 0;
};

// Of this thread: the innermost hooks pack whatever is saved.
void push_saved_tensor_hooks(std::unique_ptr<SavedTensorHooks> hooks);
void pop_saved_tensor_hooks();
bool has_saved_tensor_hooks();

// The tensor as it was when it was saved.
class SavedTensor {
 public:
  SavedTensor() = default;
  // is_result: of the node itself, which it does not hold; output: which result it is.
  SavedTensor(const Tensor& tensor, bool is_result, int output);

  bool defined() const { return tensor_.defined() || packed_ != nullptr; }
  // With its history. node: the one that saved it; null: none is known. Raises Error(Runtime) if it was written since.
  Tensor unpacked(GradNode* node) const;
  // Has hooks keep it from now on. Raises Error(Runtime) if some do.
  void pack_by(SavedTensorHooks& hooks);
  void set_output(int output) { output_ = output; }

 private:
  Tensor with_history(const Tensor& tensor, GradNode* node) const;
  void check_version(const GradNode* node) const;

  Tensor tensor_;
  std::unique_ptr<PackedTensor> packed_;
  GradEdge edge_;  // of one that is packed
  uint64_t version_ = 0;
  bool is_result_ = false;
  int output_ = 0;
};

}  // namespace md
