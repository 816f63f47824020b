#include "executor/epilogue.h"

#include <algorithm>

#include "executor/loops/loop_builder.h"

namespace md {
namespace {

// The traffic of the loop for the anchor's result stays in the cache: the anchor's estimate already includes it.
double traffic_in_cache(const Layout& layout, int value) {
  const TensorSpec& spec = layout.places[static_cast<size_t>(value)].spec;
  return 2 * static_cast<double>(spec.numel().value()) * static_cast<double>(item_size(spec.dtype));
}

}  // namespace

Epilogue build_epilogue(const Group& group, LoweringContext& context) {
  Epilogue epilogue;
  const Node& anchor = anchor_result(group);
  int value = context.places.number({const_cast<Node*>(&anchor), 0});
  Group rest = after_anchor(group);
  if (rest.nodes.empty()) return epilogue;
  BuiltLoop built = build_loop(rest, context, value);
  epilogue.ok = built.ok;
  epilogue.touched = std::move(built.lowered.touched);
  epilogue.note = std::move(built.lowered.note);
  if (!built.ok) return epilogue;
  // Pieces are written while others are read: no other operand may share memory with a result.
  const auto& shares = built.lowered.may_share;
  auto over = std::find_if(shares.begin(), shares.end(), [&](const auto& pair) { return pair.second == value; });
  if (over != shares.end() && !context.is_seen_outside(anchor, group)) {
    Layout& layout = context.places.layout();
    const Place& result = layout.places[static_cast<size_t>(over->first)];
    layout.places[static_cast<size_t>(value)].buffer = result.buffer;
    layout.places[static_cast<size_t>(value)].offset = result.offset;
    built.work.bytes -= traffic_in_cache(layout, value);
    epilogue.in_place = {over->first, value};
  }
  epilogue.program = std::move(built.program);
  epilogue.work = built.work;
  epilogue.form = std::move(built.form);
  return epilogue;
}

size_t Epilogue::nbytes() const { return program ? program->machine_code_nbytes() : 0; }

bool Epilogue::take_sizes(const Layout& layout, const Node& anchor) {
  if (!program || form == nullptr) return true;
  StepMemory memory;
  if (!md::take_sizes(*form, layout, *program, memory, work)) return false;
  // The blocks of the anchor are ranges of the loop.
  bool fits = same(spec_of(form->sized).sizes, anchor.outs[0].spec.sizes) &&
              std::ranges::all_of(
                  form->nodes, [](const LoopForm::NodeForm& each) { return each.node->outs[0].spec.is_contiguous(); });
  if (!fits) return false;
  if (!in_place) return true;
  work.bytes -= traffic_in_cache(layout, in_place->second);
  return std::ranges::find(memory.may_share, *in_place) != memory.may_share.end();
}

bool Epilogue::take_offsets(const Layout& layout) const {
  if (!program || form == nullptr) return true;
  StepMemory memory;
  if (!md::take_offsets(*form, layout, *program, memory)) return false;
  return !in_place || std::ranges::find(memory.may_share, *in_place) != memory.may_share.end();
}

std::string anchor_text(const Group& group) {
  std::string text = group.nodes[0]->op->name;
  for (size_t i = 1; i < group.nodes.size(); ++i) text += " + " + group.nodes[i]->op->name;
  return text + " -> " + group.nodes.back()->name;
}

}  // namespace md
