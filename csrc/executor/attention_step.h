// Two products with a softmax between them, in blocks of rows: the weights of a block stay in the cache.
#pragma once
#include "executor/lowering.h"

namespace md {

// Joins groups of the form product, softmax over its last dim, product of that, if the intermediates have no other
// readers. Each may be followed by pointwise nodes. Keeps the groups in a valid execution order.
void join_attention(std::vector<Group>& groups, const LoweringContext& context);

// `step` is null, with the reason in `note`, if the group's parts are better run one after another.
LoweredStep lower_attention(const Group& group, LoweringContext& context);

}  // namespace md
