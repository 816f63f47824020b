// The attributes of a tensor that are about gradients. What is stored as `grad` is a pending effect; reads see it.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// t.grad
ValuePtr gradient_attribute(Tracer& tracer, const ValuePtr& tensor);
// t.grad = value, for a tensor or None.
void store_gradient(Tracer& tracer, const ValuePtr& tensor, const ValuePtr& value);
// The same without the checks, as a backward does it.
void put_gradient(Tracer& tracer, const ValuePtr& tensor, ValuePtr value);
// Two inputs may be one tensor, which has one gradient: traces anew as one, or guards that they are not.
void require_distinct(Tracer& tracer, const TensorValue& tensor, const TensorValue& other);
// Breaks unless the tensor is an input that is a leaf, and no hook sees its gradients.
void require_plain_leaf(Tracer& tracer, const TensorValue& tensor);
// t.requires_grad_() of a tensor without a history.
void make_leaf(Tracer& tracer, const ValuePtr& tensor);
// t.grad_fn and t.is_leaf
ValuePtr grad_node_attribute(Tracer& tracer, const ValuePtr& tensor);
ValuePtr leaf_attribute(Tracer& tracer, const ValuePtr& tensor);

}  // namespace md
