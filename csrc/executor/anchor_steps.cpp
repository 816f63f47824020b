#include "executor/anchor_steps.h"

#include <algorithm>

#include "executor/convolution_step.h"
#include "executor/matmul_step.h"
#include "tensor/shapes/memory_format.h"

namespace md {
namespace {

// Table of anchors: which nodes start a group, and how the group is lowered to a step. The first matching row wins.
struct AnchorRow {
  bool (*starts)(const Node& node);
  bool (*lays_out)(const TensorSpec& result);  // the layouts that its step computes besides its own; null: none
  LoweredStep (*lower)(const Group& group, LoweringContext& context);
};
constexpr AnchorRow kAnchors[] = {
    {is_product, nullptr, lower_product},
    {is_convolution, has_channels_last, lower_convolution},
};

const AnchorRow* find_row(const Node& node) {
  auto found =
      std::find_if(std::begin(kAnchors), std::end(kAnchors), [&](const AnchorRow& row) { return row.starts(node); });
  return found == std::end(kAnchors) ? nullptr : found;
}

}  // namespace

bool is_anchor(const Node& node) { return find_row(node) != nullptr; }

bool anchor_lays_out(const Node& anchor, const Node& node) {
  const AnchorRow* row = find_row(anchor);
  return row->lays_out != nullptr && is_op(node, OpRole::Clone) && row->lays_out(node.outs[0].spec);
}

// A piece of the anchor's result is a contiguous range of the loop's iterations only if both lie alike without gaps.
bool anchor_absorbs(const Group& group, const Node& node) {
  const TensorSpec& spec = node.outs[0].spec;
  return group.is_laid_out ? lies_as(spec, anchor_result(group).outs[0].spec.strides) : spec.is_contiguous();
}

LoweredStep lower_anchor(const Group& group, LoweringContext& context) {
  return find_row(*group.nodes[0])->lower(group, context);
}

}  // namespace md
