// Gives results of eager ops their history.
#pragma once
#include <span>

#include "autograd/grad_node.h"
#include "tensor/ops/op_row.h"

namespace md {

// Of real tensors: a floating or complex result requires grad, and goes back to the operands, if one of them does and
// the mode and the row permit it. Views are followed whether they require grad or not. args: as run, final dtypes.
void note_history(const OpRow& row, std::span<const Arg> args, std::span<const Tensor> results);

// Whether a write by this op under this thread's modes gives its target another history. Raises Error(Runtime) where
// torch does: the target is a leaf, a view of one, a view made under no_grad, one of several views.
bool writes_history(const OpRow& row, std::span<const Arg> args, const Tensor& target);

// A write in place: made before it, finished behind it.
class WriteHistory {
 public:
  WriteHistory(const OpRow& row, std::span<const Arg> args, const Tensor& target);
  void finish();

 private:
  Tensor target_;
  GradNodePtr node_;
};

}  // namespace md
