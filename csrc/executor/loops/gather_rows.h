// Nodes that gather or scatter-add rows of a tensor by an index: loops can do so
// directly, without an intermediate copy.
#pragma once
#include <optional>
#include <vector>

#include "executor/loops/loop_program.h"
#include "executor/lowering.h"

namespace md {

// A gather: a node whose result consists of rows of `table`.
struct RowGather {
  ValueRef table, index;
  bool wraps;  // negative indices count from the end
};
// nullopt unless the rows are contiguous and long enough for a loop of their own.
std::optional<RowGather> as_row_gather(const Node& node);

// A segment sum: a node that adds each row of `source` to a row of its result.
struct RowSums {
  ValueRef source;
  std::optional<ValueRef> index = {}, self = {};  // the target rows, and the initial values
  int64_t repeat = 1;                             // without an index: the number of consecutive source rows per sum
  bool is_mean = false;
};
std::optional<RowSums> as_row_sums(const Node& node);
// The leading dims of the source that enumerate its rows.
int row_dims(const Node& sums);

// Joins gathers, the loop that reads their results, and the segment sum of that, if the intermediates have no other
// readers. Keeps the groups in a valid execution order.
void join_chosen_rows(std::vector<Group>& groups, const LoweringContext& context);

// `step` is null, with the reason in `note`, if the group's parts are better run one after another.
LoweredStep lower_chosen_rows(const Group& group, LoweringContext& context);

}  // namespace md
