// The node of a call of an op: what its rule needs of the call, saved.
#pragma once
#include <span>

#include "autograd/grad_node.h"
#include "tensor/ops/op_row.h"

namespace md {

// args: as run, final dtypes; results: as the op returned them. Saves what the row's rule reads of them.
GradNodePtr make_op_node(const OpRow& row, std::span<const Arg> args, std::span<const Tensor> results);
// The same in two steps: what is saved of the arguments is saved before an op writes one of them, `written`, of which a
// copy is saved.
GradNodePtr begin_op_node(const OpRow& row, std::span<const Arg> args, const Tensor& written = {});
void finish_op_node(GradNode& node, std::span<const Tensor> results);

}  // namespace md
