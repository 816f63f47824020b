// grad_fn: Python's view of the nodes of autograd/. One object for each node while it lives, of a class named after it.
#pragma once
#include "autograd/grad_node.h"
#include "cpython/ref.h"

namespace md {

Ref grad_node_object(const GradNodePtr& node);
bool is_grad_node(BorrowedRef object);
const GradNodePtr& grad_node_of(BorrowedRef object);
// The base class of all of them.
BorrowedRef grad_node_type();

}  // namespace md
