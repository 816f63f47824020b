// Two products with a softmax between them, in blocks of rows: the weights of a block never leave the cache.
#pragma once
#include "executor/lowering.h"

namespace md {

// Joins groups of the form product, softmax of it over its last dim, product of that, where nobody else reads what is in
// between. Each may have pointwise nodes after it. The order of the groups stays one in which they can run.
void join_attention(std::vector<Group>& groups, const LoweringContext& context);

// step is null, with the reason in the note, when the group's parts are better run one after another.
LoweredStep lower_attention(const Group& group, LoweringContext& context);

}  // namespace md
