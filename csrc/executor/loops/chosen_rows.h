// Nodes that read or write rows of a tensor where an index says: loops can do so themselves, without a copy between.
#pragma once
#include <optional>
#include <vector>

#include "executor/loops/loop_program.h"
#include "executor/lowering.h"

namespace md {

// A node whose result is rows of `table`.
struct RowGather {
  ValueRef table, index;
  bool wraps;  // negative places count from the end
};
// Nothing unless the rows lie without gaps and are long enough for a loop of their own.
std::optional<RowGather> as_row_gather(const Node& node);

// A node that adds up rows of `source`, each to a row of its result.
struct RowSums {
  ValueRef source;
  std::optional<ValueRef> index = {}, self = {};  // the rows to add to, and what is there before
  int64_t repeat = 1;  // without an index: so many rows of the source, one after another, are one sum
  bool is_mean = false;
};
std::optional<RowSums> as_row_sums(const Node& node);
// The dims of the source that tell its rows apart: the first ones.
int row_dims(const Node& sums);

// Joins gathers, the loop that reads what they give, and what adds that up, where nobody else reads what is in between.
// The order of the groups stays one in which they can run.
void join_chosen_rows(std::vector<Group>& groups, const LoweringContext& context);

// step is null, with the reason in the note, when the group's parts are better run one after another.
LoweredStep lower_chosen_rows(const Group& group, LoweringContext& context);

}  // namespace md
