#include "executor/lowering.h"

#include <algorithm>

#include "executor/anchor_steps.h"
#include "executor/fused_pointwise.h"
#include "executor/kernel_step.h"
#include "executor/memory_plan.h"
#include "executor/native_plan.h"
#include "executor/sized_plans.h"

namespace md {
namespace {

constexpr GroupingRules kRules = {
    .is_pointwise = can_loop,
    .is_anchor = is_anchor,
    .absorbs = anchor_absorbs,
};

// Sets the arena offsets of buffers from the steps that touch them.
class MemoryPlanner {
 public:
  MemoryPlanner(Layout& layout, std::span<const LoweredStep> steps)
      : layout_(layout), steps_(steps), block_of_(layout.buffers.size(), -1) {}

  void run() {
    for (size_t s = 0; s < steps_.size(); ++s) {
      for (int value : steps_[s].touched) touch(buffer_of(value), static_cast<int>(s));
    }
    for (size_t s = 0; s < steps_.size(); ++s) {
      for (auto [result, operand] : steps_[s].may_share)
        share(buffer_of(result), buffer_of(operand), static_cast<int>(s));
    }
    layout_.arena_nbytes = plan_arena(blocks_);
    for (size_t i = 0; i < layout_.buffers.size(); ++i) {
      if (block_of_[i] >= 0)
        layout_.buffers[i].arena_offset = blocks_[static_cast<size_t>(representative(block_of_[i]))].offset;
    }
  }

 private:
  int buffer_of(int value) const { return layout_.places[static_cast<size_t>(value)].buffer; }

  void touch(int buffer, int step) {
    const Buffer& info = layout_.buffers[static_cast<size_t>(buffer)];
    if (info.home != BufferHome::Arena) return;
    int& block = block_of_[static_cast<size_t>(buffer)];
    if (block < 0) {
      block = static_cast<int>(blocks_.size());
      blocks_.push_back({.nbytes = info.nbytes, .first = step, .last = step});
      joined_.push_back(block);
    }
    blocks_[static_cast<size_t>(block)].last = step;
  }

  int representative(int block) const {
    while (joined_[static_cast<size_t>(block)] != block) block = joined_[static_cast<size_t>(block)];
    return block;
  }

  // The result takes over the memory of an operand that dies at this step.
  void share(int result, int operand, int step) {
    if (block_of_[static_cast<size_t>(result)] < 0 || block_of_[static_cast<size_t>(operand)] < 0) return;
    int to = representative(block_of_[static_cast<size_t>(operand)]);
    int from = representative(block_of_[static_cast<size_t>(result)]);
    ArenaBlock& kept = blocks_[static_cast<size_t>(to)];
    ArenaBlock& moved = blocks_[static_cast<size_t>(from)];
    if (to == from || kept.last != step || moved.first != step || kept.nbytes != moved.nbytes) return;
    joined_[static_cast<size_t>(from)] = to;
    kept.last = moved.last;
    moved.nbytes = 0;
    moved.last = moved.first;
  }

  Layout& layout_;
  std::span<const LoweredStep> steps_;
  std::vector<int> block_of_;  // by buffer
  std::vector<ArenaBlock> blocks_;
  std::vector<int> joined_;  // by block: the one that it lies in
};

std::vector<PlanInput> plan_inputs(const Graph& graph, const ValuePlaces& places) {
  std::vector<PlanInput> inputs;
  for (const Node* node : graph.inputs()) {
    inputs.push_back(
        {.buffer = node->kind == NodeKind::TensorInput ? places.place({const_cast<Node*>(node), 0}).buffer : -1,
         .name = node->name});
  }
  return inputs;
}

// Dead nodes may remain in a graph that no pass has seen. Those of a loop cannot fail.
bool is_unused(const Group& group, const LoweringContext& context) {
  return std::none_of(group.nodes.begin(), group.nodes.end(),
                      [&](const Node* node) { return context.is_seen_outside(*node, group); });
}

void lower_group(const Group& group, LoweringContext& context, std::vector<LoweredStep>& steps) {
  LoweredStep step;
  if (group.kind == GroupKind::Pointwise && is_unused(group, context)) return;
  if (group.kind == GroupKind::Pointwise) step = lower_to_loop(group, context);
  if (group.kind == GroupKind::Anchor) step = lower_anchor(group, context);
  if (step.step != nullptr) {
    steps.push_back(std::move(step));
    return;
  }
  // What the primitive would have done on the way out runs as one loop after the anchor.
  if (group.kind == GroupKind::Anchor && group.nodes.size() > 1) {
    Group rest = {.kind = GroupKind::Pointwise, .nodes = {group.nodes.begin() + 1, group.nodes.end()}, .note = {}};
    steps.push_back(lower_to_kernel(*group.nodes[0], context));
    steps.back().note = step.note;
    bool loops = std::all_of(rest.nodes.begin(), rest.nodes.end(), [](const Node* node) { return can_loop(*node); });
    if (!loops) rest.kind = GroupKind::Single;
    return lower_group(rest, context, steps);
  }
  for (const Node* node : group.nodes) {
    LoweredStep single = lower_to_kernel(*node, context);
    if (single.note.empty()) single.note = step.note;
    steps.push_back(std::move(single));
  }
}

}  // namespace

bool LoweringContext::is_seen_outside(const Node& node, const Group& group) const {
  if (escapes[static_cast<size_t>(node.index)]) return true;
  const std::vector<Node*>& readers = users[static_cast<size_t>(node.index)];
  return std::any_of(readers.begin(), readers.end(), [&](const Node* user) {
    return std::find(group.nodes.begin(), group.nodes.end(), user) == group.nodes.end();
  });
}

LoweredStep lower_to_kernel(const Node& node, LoweringContext& context) {
  LoweredStep lowered;
  std::vector<ArgPatch> patches;
  std::vector<Arg> args;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    bool is_list = std::holds_alternative<std::vector<ValueRef>>(node.operands[i]);
    int item = 0;
    for_each_value(node.operands[i], [&](const ValueRef& value) {
      ArgPatch patch = {.arg = static_cast<int>(i), .item = is_list ? item++ : -1};
      if (value.node->kind == NodeKind::TensorInput || value.node->kind == NodeKind::ScalarInput) {
        patch.input = context.places.input_position(*value.node);
      } else {
        patch.value = context.places.number(value);
      }
      if (!context.graph.info(value).is_scalar) lowered.touched.push_back(context.places.number(value));
      patches.push_back(patch);
    });
    args.push_back(to_arg(node.operands[i], [](ValueRef value) -> Arg {
      if (value.node->kind == NodeKind::ScalarInput) return Scalar();
      return Tensor();
    }));
  }
  std::vector<int> outs;
  for (int i = 0; i < static_cast<int>(node.outs.size()); ++i) {
    outs.push_back(context.places.number({const_cast<Node*>(&node), i}));
    lowered.touched.push_back(outs.back());
  }
  lowered.step =
      std::make_unique<KernelStep>(node, std::move(args), std::move(patches), std::move(outs), context.call_count++);
  return lowered;
}

std::shared_ptr<const Plan> lower(const Graph& graph) {
  ValuePlaces places(graph);
  LoweringContext context(graph, places);
  std::vector<LoweredStep> lowered;
  for (const Group& group : group_nodes(graph, places, kRules)) lower_group(group, context, lowered);
  MemoryPlanner(places.layout(), lowered).run();

  std::vector<std::unique_ptr<Step>> steps;
  std::vector<std::string> notes;
  for (LoweredStep& step : lowered) {
    steps.push_back(std::move(step.step));
    notes.push_back(std::move(step.note));
  }
  std::vector<int> outputs;
  for (const ValueRef& output : graph.outputs()) outputs.push_back(places.number(output));
  return std::make_shared<NativePlan>(std::move(places.layout()), std::move(steps), plan_inputs(graph, places),
                                      std::move(outputs), context.call_count, std::move(notes));
}

std::shared_ptr<const Plan> lower(const std::shared_ptr<const Graph>& graph) {
  std::shared_ptr<const Plan> plan =
      sized_plans(graph, [](const std::shared_ptr<const Graph>& concrete) { return lower(*concrete); });
  return plan != nullptr ? plan : lower(*graph);
}

}  // namespace md
