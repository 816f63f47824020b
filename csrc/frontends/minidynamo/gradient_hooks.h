// Python's functions as hooks of gradients.
#pragma once
#include <memory>

#include "autograd/grad_history.h"
#include "autograd/grad_node.h"
#include "cpython/ref.h"

namespace md {

// function(gradient) -> Tensor | None
std::shared_ptr<GradientHook> gradient_hook(BorrowedRef function);
// before(of_results) -> tuple | None, after(of_operands, of_results) -> tuple | None; either may be null.
std::shared_ptr<GradNodeHook> grad_node_hook(BorrowedRef before, BorrowedRef after);
// function(leaf). The object is held weakly: it holds the hook.
std::shared_ptr<AccumulatedHook> accumulated_hook(BorrowedRef function, BorrowedRef leaf);

// A gradient as Python sees it: None where there is none.
Ref wrap_gradient(const Tensor& gradient);
// Undefined for None. Raises TypeError for anything but a Tensor.
Tensor gradient_from(BorrowedRef object, const char* what);
std::vector<Tensor> gradients_from(BorrowedRef sequence, const char* what);

}  // namespace md
