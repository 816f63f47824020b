#include "executor/lowering.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/log.h"
#include "executor/anchor_steps.h"
#include "executor/append_step.h"
#include "executor/attention_step.h"
#include "executor/kernel_step.h"
#include "executor/loops/fused_pointwise.h"
#include "executor/loops/gather_rows.h"
#include "executor/loops/row_reductions.h"
#include "executor/loops/turned_operands.h"
#include "executor/memory_plan.h"
#include "executor/native_plan.h"
#include "executor/sized_plans.h"
#include "executor/timed_plan.h"
#include "executor/vector_product_step.h"
#include "executor/window_step.h"
#include "executor/write_placement.h"
#include "graph/cut.h"
#include "graph/merge_products.h"

namespace md {
namespace {

constexpr int kMostPointwiseNodes = 64;

// Each element of a short, unrolled row takes registers of its own.
int most_folding_nodes(const DimVec& sizes) {
  constexpr int64_t kMostElements = 160;
  if (!folds_short_rows(sizes)) return kMostPointwiseNodes;
  return static_cast<int>(std::min<int64_t>(kMostPointwiseNodes, kMostElements / sizes[sizes.size() - 1].value()));
}

constexpr GroupingRules kRules = {
    .is_pointwise = can_loop,
    .is_cheap = is_cheap_in_loop,
    .folds_rows = can_fold_rows,
    .is_anchor = is_anchor,
    .absorbs = anchor_absorbs,
    .lays_out = anchor_lays_out,
    .max_pointwise_nodes = kMostPointwiseNodes,
    .most_folding_nodes = most_folding_nodes,
};

// Assigns arena offsets to buffers from the steps that touch them. A value that dies where an output is first written
// may use the output's buffer for its whole lifetime.
class MemoryPlanner {
 public:
  MemoryPlanner(Layout& layout, std::span<const StepMemory> steps)
      : layout_(layout),
        steps_(steps),
        block_of_(layout.buffers.size(), -1),
        first_step_(layout.buffers.size(), -1),
        has_guest_(layout.buffers.size(), false) {}

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
    for (Place& place : layout_.places) {
      if (place.buffer < 0 || block_of_[static_cast<size_t>(place.buffer)] < 0) continue;
      int host = hosts_[static_cast<size_t>(representative(block_of_[static_cast<size_t>(place.buffer)]))];
      if (host >= 0) place.buffer = host;
    }
  }

 private:
  int buffer_of(int value) const { return layout_.places[static_cast<size_t>(value)].buffer; }

  void touch(int buffer, int step) {
    const Buffer& info = layout_.buffers[static_cast<size_t>(buffer)];
    if (first_step_[static_cast<size_t>(buffer)] < 0) first_step_[static_cast<size_t>(buffer)] = step;
    if (info.home != BufferHome::Arena) return;
    int& block = block_of_[static_cast<size_t>(buffer)];
    if (block < 0) {
      block = static_cast<int>(blocks_.size());
      blocks_.push_back({.nbytes = info.nbytes, .first = step, .last = step});
      joined_.push_back(block);
      hosts_.push_back(-1);
    }
    blocks_[static_cast<size_t>(block)].last = step;
  }

  int representative(int block) const {
    while (joined_[static_cast<size_t>(block)] != block) block = joined_[static_cast<size_t>(block)];
    return block;
  }

  // The result reuses the memory of an operand that dies at this step.
  void share(int result, int operand, int step) {
    if (block_of_[static_cast<size_t>(operand)] < 0) return;
    if (layout_.buffers[static_cast<size_t>(result)].lead != layout_.buffers[static_cast<size_t>(operand)].lead) return;
    if (layout_.buffers[static_cast<size_t>(result)].home == BufferHome::Output) return be_guest(operand, result, step);
    if (block_of_[static_cast<size_t>(result)] < 0) return;
    int to = representative(block_of_[static_cast<size_t>(operand)]);
    int from = representative(block_of_[static_cast<size_t>(result)]);
    ArenaBlock& kept = blocks_[static_cast<size_t>(to)];
    ArenaBlock& moved = blocks_[static_cast<size_t>(from)];
    if (to == from || kept.last != step || moved.first != step || kept.nbytes != moved.nbytes || kept.nbytes < 0)
      return;
    joined_[static_cast<size_t>(from)] = to;
    kept.last = moved.last;
    moved.nbytes = kLiesElsewhere;
  }

  // The operand, and all values that used its memory before, use the output's buffer.
  void be_guest(int operand, int output, int step) {
    int block = representative(block_of_[static_cast<size_t>(operand)]);
    ArenaBlock& guest = blocks_[static_cast<size_t>(block)];
    bool is_free = first_step_[static_cast<size_t>(output)] == step && !has_guest_[static_cast<size_t>(output)];
    bool fits = guest.nbytes > 0 && guest.nbytes == layout_.buffers[static_cast<size_t>(output)].nbytes;
    if (guest.last != step || !is_free || !fits) return;
    has_guest_[static_cast<size_t>(output)] = true;
    hosts_[static_cast<size_t>(block)] = output;
    guest.nbytes = kLiesElsewhere;
  }

  Layout& layout_;
  std::span<const StepMemory> steps_;
  std::vector<int> block_of_;    // by buffer
  std::vector<int> first_step_;  // by buffer: the first step that touches it
  std::vector<bool> has_guest_;  // by buffer
  std::vector<ArenaBlock> blocks_;
  std::vector<int> joined_;  // by block: the block that it was merged into
  std::vector<int> hosts_;   // by block: the output's buffer that it uses, or -1
};

std::vector<PlanInput> plan_inputs(const Graph& graph, const BufferAssignment& places,
                                   std::span<const Append> appends) {
  std::vector<PlanInput> inputs;
  for (const Node* node : graph.inputs()) {
    bool has_address =
        node->kind == NodeKind::TensorInput && std::ranges::find(appends, node, &Append::input) == appends.end();
    inputs.push_back(
        {.buffer = has_address ? places.place({const_cast<Node*>(node), 0}).buffer : -1, .name = node->name});
  }
  return inputs;
}

// A graph on which no pass has run may contain dead nodes. Nodes that may raise are in no loop.
bool is_unused(const Group& group, const LoweringContext& context) {
  return std::none_of(group.nodes.begin(), group.nodes.end(),
                      [&](const Node* node) { return context.is_seen_outside(*node, group); });
}

// The label of a step with these nodes. Only the first step of a group follows the group's producer.
StepLabel label_of(std::span<const Node* const> nodes, const Group& group, std::string fallback) {
  StepLabel label;
  for (const Node* node : nodes) label.nodes.push_back(node->name);
  label.fallback = std::move(fallback);
  if (group.producer != nullptr && nodes[0] == group.nodes[0]) {
    label.reason = group.reason;
    label.producer = group.producer->name;
  }
  return label;
}

// Splits a group that reduces rows into groups that do not: each reduction alone, other nodes with
// their neighbours of the same sizes.
std::vector<Group> without_folds(const Group& group) {
  std::vector<Group> parts;
  for (const Node* node : group.nodes) {
    bool folds = can_fold_rows(*node);
    bool joins = !folds && !parts.empty() && parts.back().kind == GroupKind::Pointwise &&
                 same(parts.back().sizes, node->outs[0].spec.sizes);
    if (!joins) {
      parts.emplace_back();
      parts.back().kind = folds ? GroupKind::Single : GroupKind::Pointwise;
      parts.back().sizes = node->outs[0].spec.sizes;
    }
    parts.back().nodes.push_back(node);
  }
  parts[0].reason = group.reason;
  parts[0].producer = group.producer;
  return parts;
}

// The step that copies what a write into its base writes.
LoweredStep lower_to_window(const Node& node, LoweringContext& context) {
  ValueRef source = context.writes->source_of(node);
  int from = context.places.number(source), to = context.places.number({const_cast<Node*>(&node), 0});
  const Place& base = context.places.layout().places[static_cast<size_t>(to)];
  Place window = context.writes->window_of(node);
  LoweredStep lowered;
  lowered.touched = {from, to};
  lowered.step =
      copy_window({.value = from, .spec = context.places.place(source).spec},
                  {.value = to, .offset = window.offset - base.offset, .spec = window.spec},
                  str_cat("window ", node.op->name, " -> ", node.name), context.changes(node) ? &node : nullptr);
  return lowered;
}

LoweredStep lower_alone(const Node& node, LoweringContext& context) {
  auto append = std::ranges::find(context.appends, &node, &Append::node);
  if (append != context.appends.end()) return lower_append(*append, context);
  if (LoweredStep product = lower_vector_product(node, context); product.step != nullptr) return product;
  bool is_window = writes_view(*node.op) && context.writes->is_in_base(node);
  return is_window ? lower_to_window(node, context) : lower_to_kernel(node, context);
}

void lower_group(const Group& group, LoweringContext& context, std::vector<LoweredStep>& steps) {
  LoweredStep step;
  if (group.kind == GroupKind::Pointwise && is_unused(group, context)) return;
  // A single reduction is left to its kernel, which also splits long rows.
  bool is_loop = group.kind == GroupKind::Pointwise && !(group.folds_rows && group.nodes.size() == 1);
  if (is_loop) step = lower_to_loop(group, context);
  if (group.kind == GroupKind::Anchor) step = lower_anchor(group, context);
  if (group.kind == GroupKind::Attention) step = lower_attention(group, context);
  if (group.kind == GroupKind::ChosenRows) step = lower_chosen_rows(group, context);
  if (step.step != nullptr) {
    step.label = label_of(group.nodes, group, std::move(step.note));
    steps.push_back(std::move(step));
    return;
  }
  if (group.kind == GroupKind::Attention || group.kind == GroupKind::ChosenRows || !group.turned.empty()) {
    for (const Group& part : group.parts) lower_group(part, context, steps);
    return;
  }
  // The nodes that would have run on the anchor's pieces run as one loop after it.
  if (group.kind == GroupKind::Anchor && group.nodes.size() > 1) {
    Group rest = after_anchor(group);
    rest.reason = NotFused::after_kernel;
    rest.producer = group.nodes[0];
    for (size_t i = 0; i + rest.nodes.size() < group.nodes.size(); ++i) {
      steps.push_back(lower_to_kernel(*group.nodes[i], context));
      steps.back().label = label_of({&group.nodes[i], 1}, group, step.note);
    }
    if (rest.nodes.empty()) return;
    bool loops = std::all_of(rest.nodes.begin(), rest.nodes.end(), [](const Node* node) { return can_loop(*node); });
    if (!loops) rest.kind = GroupKind::Single;
    return lower_group(rest, context, steps);
  }
  if (group.kind == GroupKind::Pointwise && group.folds_rows && group.nodes.size() > 1) {
    for (const Group& part : without_folds(group)) lower_group(part, context, steps);
    return;
  }
  for (const Node* const& node : group.nodes) {
    if (context.writes->is_done(*node) || context.writes->is_passed_over(*node) ||
        context.writes->is_overwritten(*node)) {
      context.in_place.push_back(node->name);
      continue;
    }
    LoweredStep single = lower_alone(*node, context);
    single.label = label_of({&node, 1}, group, single.note.empty() ? step.note : std::move(single.note));
    steps.push_back(std::move(single));
  }
}

}  // namespace

void place_buffers(Layout& layout, std::span<const StepMemory> steps) { MemoryPlanner(layout, steps).run(); }

bool LoweringContext::is_seen_outside(const Node& node, const Group& group) const {
  if (escapes[static_cast<size_t>(node.index)]) return true;
  const std::vector<Node*>& readers = users[static_cast<size_t>(node.index)];
  return std::any_of(readers.begin(), readers.end(), [&](const Node* user) {
    return std::find(group.nodes.begin(), group.nodes.end(), user) == group.nodes.end();
  });
}

bool LoweringContext::changes(const Node& node) const {
  if (sized == nullptr) return false;
  bool found = has_symbols(sized->symbolic(node));
  for (const Operand& operand : node.operands)
    for_each_value(operand, [&](const ValueRef& value) { found |= has_symbols(sized->symbolic(*value.node)); });
  return found;
}

bool LoweringContext::changes(const Group& group) const {
  return std::any_of(group.nodes.begin(), group.nodes.end(), [this](const Node* node) { return changes(*node); });
}

bool LoweringContext::is_weight(ValueRef value) const {
  const Buffer& buffer = places.buffer(value);
  if (buffer.home == BufferHome::Constant) return true;
  size_t input = static_cast<size_t>(buffer.index);
  return buffer.home == BufferHome::Input && !buffer.is_written && input < rules.weights.size() && rules.weights[input];
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
  lowered.step = std::make_unique<KernelStep>(node, std::move(args), std::move(patches), std::move(outs),
                                              context.call_count++, context.changes(node));
  return lowered;
}

namespace {

std::vector<std::string> aliases(const Graph& graph, const BufferAssignment& places) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes())
    if (node->kind == NodeKind::Op && places.is_alias(*node)) names.push_back(node->name);
  return names;
}

// A loop that cannot write its results where they belong leaves that to other steps.
void lower_in_place(const Group& group, LoweringContext& context, std::vector<LoweredStep>& steps) {
  size_t before = steps.size();
  context.has_failed_loop = false;
  bool is_placed = context.writes->place_results(group);
  lower_group(group, context, steps);
  if (!is_placed || !context.has_failed_loop) return;
  steps.resize(before);
  context.writes->take_back();
  lower_group(group, context, steps);
}

// Copies to the inputs what has been computed elsewhere.
void add_write_backs(LoweringContext& context, std::vector<LoweredStep>& steps) {
  const Layout& layout = context.places.layout();
  for (const WritePlacement::WriteBack& back : context.writes->write_backs()) {
    int64_t start = layout.places[static_cast<size_t>(back.input_value)].offset;
    for (const Place& window : back.windows) {
      LoweredStep step;
      step.touched = {back.value, back.input_value};
      Window from = {.value = back.value, .offset = window.offset - start, .spec = window.spec};
      Window to = from;
      to.value = back.input_value;
      step.step = copy_window(std::move(from), std::move(to), "window to an input", nullptr);
      steps.push_back(std::move(step));
    }
  }
}

std::vector<const Node*> nodes_of(const Group& group) {
  std::vector<const Node*> nodes = group.nodes;
  nodes.insert(nodes.end(), group.gathers.begin(), group.gathers.end());
  nodes.insert(nodes.end(), group.turned.begin(), group.turned.end());
  if (group.sums != nullptr) nodes.push_back(group.sums);
  return nodes;
}

// Returns the first step that writes an input, or the number of steps.
size_t lower_groups(std::span<const Group> groups, LoweringContext& context, std::vector<LoweredStep>& steps) {
  std::optional<size_t> first_write;
  for (const Group& group : groups) {
    size_t before = steps.size();
    lower_in_place(group, context, steps);
    for (size_t i = before; i < steps.size(); ++i) steps[i].nodes = nodes_of(group);
    if (!first_write && steps.size() > before && context.writes->writes_input(group)) first_write = before;
  }
  if (!first_write) first_write = steps.size();
  add_write_backs(context, steps);
  return *first_write;
}

std::vector<int> output_values(const Graph& graph, const BufferAssignment& places, std::span<const InputWrite> writes) {
  std::vector<int> values;
  for (const ValueRef& output : graph.outputs()) values.push_back(places.number(output));
  for (const InputWrite& write : writes)
    values[static_cast<size_t>(write.output)] = places.number({graph.inputs()[static_cast<size_t>(write.input)], 0});
  return values;
}

// sized: if the plan will take other sizes of the graph; null if it could not.
std::shared_ptr<NativePlan> lower_graph(const Graph& graph, std::span<const InputWrite> given,
                                        const ProductRules& rules, const std::shared_ptr<const SizedGraph>& sized) {
  std::vector<InputWrite> writes = usable_writes(graph, given, sized.get());
  std::vector<bool> escapes = escaping_besides(graph, writes);
  std::vector<Append> appends = find_appends(graph);
  BufferAssignment places(graph, escapes, appends);
  LoweringContext context(graph, places, sized.get());
  context.appends = appends;
  context.rules = rules;
  std::vector<LoweredStep> lowered;
  std::vector<Group> groups = group_nodes(graph, places, {context.users, context.escapes}, kRules);
  join_attention(groups, context);
  join_chosen_rows(groups, context);
  join_turned(groups, context);
  WritePlacement placement(graph, places, groups, write_chains(graph, places, writes, escapes), escapes, sized.get());
  context.writes = &placement;
  placement.take_over_bases();
  auto description = std::make_shared<PlanDescription>();
  description->first_write = lower_groups(groups, context, lowered);
  if (context.keeps_sizes) return nullptr;

  std::vector<std::unique_ptr<Step>> steps;
  std::vector<StepMemory> memory;
  std::vector<std::vector<const Node*>> nodes;
  for (LoweredStep& step : lowered) {
    steps.push_back(std::move(step.step));
    nodes.push_back(std::move(step.nodes));
    description->labels.push_back(std::move(step.label));
    memory.push_back(std::move(static_cast<StepMemory&>(step)));
  }
  description->inputs = plan_inputs(graph, places, appends);
  description->aliases = aliases(graph, places);
  description->in_place = std::move(context.in_place);
  description->stands_in = context.stands_in || writes.size() != given.size() || !placement.all_are_in_base();
  std::unique_ptr<SizeChanges> changes;
  if (sized != nullptr)
    changes = std::make_unique<SizeChanges>(sized, places, memory, nodes, placement.moved_results());
  place_buffers(places.layout(), memory);
  std::vector<int> outputs = output_values(graph, places, writes);
  return std::make_shared<NativePlan>(std::move(places.layout()), std::move(steps), std::move(outputs),
                                      context.call_count, std::move(description), std::move(changes));
}

std::shared_ptr<const NativePlan> lower_natively(const Graph& captured, std::span<const InputWrite> writes,
                                                 const ProductRules& rules) {
  std::unique_ptr<Graph> merged = merge_products(captured);
  return lower_graph(merged != nullptr ? *merged : captured, writes, rules, nullptr);
}

bool is_plan_logged() { return log_enabled(LogArtifact::plan) || log_enabled(LogArtifact::kernels); }

void log_plan(const Plan& plan, const Graph& graph, const std::string& sizes) {
  if (log_enabled(LogArtifact::plan))
    log_event(LogArtifact::plan, print_plan_log(plan.facts(), graph_place(graph), sizes));
  if (log_enabled(LogArtifact::kernels))
    log_event(LogArtifact::kernels, print_kernels_log(plan.facts(), graph_place(graph), sizes));
}

std::shared_ptr<const Plan> lower_and_tell(const std::shared_ptr<const Graph>& graph,
                                           std::span<const InputWrite> writes, const ProductRules& rules,
                                           const std::string& sizes) {
  std::shared_ptr<const NativePlan> plan = lower_natively(*graph, writes, rules);
  log_plan(*plan, *graph, sizes);
  return measured_if_asked(std::move(plan), *graph, sizes);
}

// Merged products are those of a graph of its own.
std::shared_ptr<SizedPlan> lower_for_many(const std::shared_ptr<const SizedGraph>& sized,
                                          std::span<const InputWrite> writes, const ProductRules& rules) {
  bool measured = log_enabled(LogArtifact::perf) || MeasuringScope::is_active();
  if (measured || merge_products(sized->graph()) != nullptr) return nullptr;
  return lower_graph(sized->graph(), writes, rules, sized);
}

}  // namespace

std::shared_ptr<const Plan> lower(const Graph& graph) { return lower_natively(graph, {}, {}); }

std::shared_ptr<const Plan> lower(const std::shared_ptr<const Graph>& graph, const std::vector<InputWrite>& writes,
                                  const ProductRules& rules) {
  // What the first of two parts passes to the second may be a view of a written input; their inputs are others.
  bool is_cut = cut_at_unbacked_sizes(*graph).has_value();
  std::vector<InputWrite> own = is_cut ? std::vector<InputWrite>() : writes;
  ProductRules own_rules = {rules.precision, is_cut ? std::vector<bool>() : rules.weights};
  SizedPlanMakers makers;
  makers.make = [own, own_rules](const std::shared_ptr<const Graph>& concrete, const std::string& sizes) {
    return lower_and_tell(concrete, own, own_rules, sizes);
  };
  makers.make_for_many = [own, own_rules](const std::shared_ptr<const SizedGraph>& sized) {
    return lower_for_many(sized, own, own_rules);
  };
  makers.is_logged = is_plan_logged;
  makers.log = log_plan;
  return plan_for_any_sizes(graph, makers);
}

}  // namespace md
