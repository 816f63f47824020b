#include "executor/anchor_steps.h"

#include <algorithm>

#include "executor/convolution_step.h"
#include "executor/matmul_step.h"

namespace md {
namespace {

// Table of anchors: which nodes start a group, and how the group is lowered to a step. The first matching row wins.
struct AnchorRow {
  bool (*starts)(const Node& node);
  LoweredStep (*lower)(const Group& group, LoweringContext& context);
};
constexpr AnchorRow kAnchors[] = {
    {is_product, lower_product},
    {is_convolution, lower_convolution},
};

const AnchorRow* find_row(const Node& node) {
  auto found =
      std::find_if(std::begin(kAnchors), std::end(kAnchors), [&](const AnchorRow& row) { return row.starts(node); });
  return found == std::end(kAnchors) ? nullptr : found;
}

}  // namespace

bool is_anchor(const Node& node) { return find_row(node) != nullptr; }

// A piece of the anchor's result is a contiguous range of the loop's iterations only if
// both are row-major without gaps.
bool anchor_absorbs(const Group&, const Node& node) { return node.outs[0].spec.is_contiguous(); }

LoweredStep lower_anchor(const Group& group, LoweringContext& context) {
  return find_row(*group.nodes[0])->lower(group, context);
}

}  // namespace md
