#include "executor/epilogue.h"

#include <algorithm>

#include "executor/loops/loop_builder.h"

namespace md {

Epilogue build_epilogue(const Group& group, LoweringContext& context) {
  Epilogue epilogue;
  if (group.nodes.size() == 1) return epilogue;
  const Node& anchor = *group.nodes[0];
  int value = context.places.number({const_cast<Node*>(&anchor), 0});
  Group rest = after_anchor(group);
  BuiltLoop built = build_loop(rest, context, value);
  epilogue.ok = built.ok;
  epilogue.lowered = std::move(built.lowered);
  if (!built.ok) return epilogue;
  auto& shares = epilogue.lowered.may_share;
  auto over = std::find_if(shares.begin(), shares.end(), [&](const auto& pair) { return pair.second == value; });
  if (over != shares.end() && !context.is_seen_outside(anchor, group)) {
    Layout& layout = context.places.layout();
    const Place& result = layout.places[static_cast<size_t>(over->first)];
    layout.places[static_cast<size_t>(value)].buffer = result.buffer;
    layout.places[static_cast<size_t>(value)].offset = result.offset;
    // The traffic of the loop for this value stays in the cache: the anchor's estimate already includes it.
    built.work.bytes -= 2 * static_cast<double>(span_nbytes(anchor.outs[0].spec));
  }
  // Pieces are written while others are read: an operand may not share memory with a result.
  shares.clear();
  epilogue.program = std::move(built.program);
  epilogue.work = built.work;
  return epilogue;
}

std::string anchor_text(const Group& group) {
  std::string text = group.nodes[0]->op->name;
  for (size_t i = 1; i < group.nodes.size(); ++i) text += " + " + group.nodes[i]->op->name;
  return text + " -> " + group.nodes.back()->name;
}

}  // namespace md
