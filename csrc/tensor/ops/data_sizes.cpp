#include "tensor/ops/data_sizes.h"

#include <algorithm>
#include <iterator>

namespace md {

const DataSized* data_sized(const OpRow& op) {
  static const DataSized kRows[] = {
#define MD_DATA_SIZED(op, count, sized) {find_op(op), find_op(count), find_op(sized)},
#include "tensor/ops/data_sizes.def"
#undef MD_DATA_SIZED
  };
  const DataSized* found = std::ranges::find(kRows, &op, &DataSized::op);
  return found == std::end(kRows) ? nullptr : found;
}

}  // namespace md
