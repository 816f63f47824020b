#include "executor/size_changes.h"

#include <utility>

namespace md {

SizeChanges::SizeChanges(std::shared_ptr<const SizedGraph> sized, const BufferAssignment& places,
                         std::vector<StepMemory> memory)
    : sized_(std::move(sized)), memory_(std::move(memory)) {
  for (const Place& place : places.layout().places) buffer_of_.push_back(place.buffer);
  for (const auto& node : sized_->graph().nodes()) {
    bool is_alias = places.is_alias(*node), changes = has_symbols(sized_->symbolic(*node));
    int base = is_alias ? places.number(std::get<ValueRef>(node->operands[0])) : -1;
    for (int out = 0; out < static_cast<int>(node->outs.size()); ++out) {
      Result result = {places.number({node.get(), out}), node.get(), out};
      if (is_alias) views_.push_back({result, base});
      if (changes && node->kind != NodeKind::ScalarInput) changing_.push_back(result);
    }
  }
}

void SizeChanges::put_sizes(Layout& layout) const {
  for (size_t value = 0; value < buffer_of_.size(); ++value) layout.places[value].buffer = buffer_of_[value];
  for (const Result& result : changing_)
    layout.places[static_cast<size_t>(result.value)].spec = result.node->outs[static_cast<size_t>(result.out)].spec;
  for (Buffer& buffer : layout.buffers)
    buffer.nbytes = span_nbytes(layout.places[static_cast<size_t>(buffer.root)].spec);
  for (const View& view : views_) {
    layout.places[static_cast<size_t>(view.value)].offset =
        layout.places[static_cast<size_t>(view.base)].offset + sized_->view_offset(*view.node, view.out);
  }
}

}  // namespace md
