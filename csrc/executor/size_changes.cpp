#include "executor/size_changes.h"

#include <utility>

namespace md {

SizeChanges::SizeChanges(std::shared_ptr<const SizedGraph> sized, const BufferAssignment& places,
                         std::vector<StepMemory> memory)
    : sized_(std::move(sized)), memory_(std::move(memory)) {
  for (const Place& place : places.layout().places) buffer_of_.push_back(place.buffer);
  for (const auto& node : sized_->graph().nodes()) {
    if (!places.is_alias(*node)) continue;
    int base = places.number(std::get<ValueRef>(node->operands[0]));
    for (int out = 0; out < static_cast<int>(node->outs.size()); ++out)
      views_.push_back({places.number({node.get(), out}), base, node.get(), out});
  }
}

void SizeChanges::put_sizes(Layout& layout) const {
  size_t value = 0;
  for (const auto& node : sized_->graph().nodes()) {
    size_t count = node->kind == NodeKind::ScalarInput ? 1 : node->outs.size();
    for (size_t out = 0; out < count; ++out, ++value) {
      Place& place = layout.places[value];
      place.buffer = buffer_of_[value];
      if (node->kind != NodeKind::ScalarInput) place.spec = node->outs[out].spec;
    }
  }
  for (const View& view : views_) {
    layout.places[static_cast<size_t>(view.value)].offset =
        layout.places[static_cast<size_t>(view.base)].offset + sized_->view_offset(*view.node, view.out);
  }
  for (Buffer& buffer : layout.buffers) {
    buffer.nbytes = span_nbytes(layout.places[static_cast<size_t>(buffer.root)].spec);
    buffer.arena_offset = 0;
  }
}

}  // namespace md
