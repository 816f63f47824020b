#include "executor/size_changes.h"

#include <algorithm>
#include <utility>

namespace md {

SizeChanges::SizeChanges(std::shared_ptr<const SizedGraph> sized, const BufferAssignment& places,
                         std::vector<StepMemory> memory, std::span<const std::vector<const Node*>> nodes,
                         std::span<const WritePlacement::Moved> moved)
    : sized_(std::move(sized)), memory_(std::move(memory)) {
  for (const Place& place : places.layout().places) buffer_of_.push_back(place.buffer);
  may_move_.resize(places.layout().buffers.size());
  for (const StepMemory& step : memory_) {
    for (int value : step.touched) {
      auto buffer = static_cast<size_t>(buffer_of_[static_cast<size_t>(value)]);
      BufferHome home = places.layout().buffers[buffer].home;
      may_move_[buffer] = home == BufferHome::Arena || home == BufferHome::Output;
    }
  }
  for (const auto& node : sized_->graph().nodes()) {
    bool is_alias = places.is_alias(*node), changes = has_symbols(sized_->symbolic(*node));
    int base = is_alias ? places.number(std::get<ValueRef>(node->operands[0])) : -1;
    for (int out = 0; out < static_cast<int>(node->outs.size()); ++out) {
      Result result = {places.number({node.get(), out}), node.get(), out};
      if (is_alias) views_.push_back({result, base});
      // What lies in a window has the layout of that, which stays.
      bool is_moved = std::ranges::find(moved, result.value, &WritePlacement::Moved::value) != moved.end();
      if (changes && !is_moved && node->kind != NodeKind::ScalarInput) changing_.push_back(result);
    }
  }
  for (const WritePlacement::Moved& each : moved)
    in_windows_.push_back({each.value, places.number({const_cast<Node*>(each.update), 0}), each.update});
  for (const std::vector<const Node*>& each : nodes) {
    StepValues& read = step_values_.emplace_back();
    read.has_numbers = each.empty();
    for (const Node* node : each) {
      read.has_numbers = read.has_numbers || has_symbolic_operand(sized_->symbolic(*node));
      for (int out = 0; out < static_cast<int>(node->outs.size()); ++out)
        read.values.push_back(places.number({const_cast<Node*>(node), out}));
      for (const Operand& operand : node->operands)
        for_each_value(operand, [&](const ValueRef& value) { read.values.push_back(places.number(value)); });
    }
  }
}

void SizeChanges::put_sizes(Layout& layout) {
  changes_.assign(layout.places.size(), SizeChange::None);
  has_resized_ = has_new_layouts_ = false;
  for (size_t value = 0; value < buffer_of_.size(); ++value) layout.places[value].buffer = buffer_of_[value];
  for (const Result& result : changing_) {
    TensorSpec& spec = layout.places[static_cast<size_t>(result.value)].spec;
    const TensorSpec& now = result.node->outs[static_cast<size_t>(result.out)].spec;
    if (same_layout(spec, now)) continue;
    spec.sizes = now.sizes;
    spec.strides = now.strides;
    changes_[static_cast<size_t>(result.value)] = SizeChange::Sizes;
    has_new_layouts_ = true;
  }
  for (size_t i = 0; i < layout.buffers.size(); ++i) {
    Buffer& buffer = layout.buffers[i];
    if (changes_[static_cast<size_t>(buffer.root)] == SizeChange::None) continue;
    const TensorSpec& root = layout.places[static_cast<size_t>(buffer.root)].spec;
    int64_t nbytes = span_nbytes(root), lead = lead_of(root);
    has_resized_ = has_resized_ || (may_move_[i] && (nbytes != buffer.nbytes || lead != buffer.lead));
    buffer.nbytes = nbytes;
    buffer.lead = lead;
  }
  auto place_of = [&](int value) -> const Place& { return layout.places[static_cast<size_t>(value)]; };
  for (const View& view : views_) {
    const Place& base = place_of(view.base);
    int64_t start = offset_in(place_of(view.value).spec.dtype, base.offset, base.spec.dtype);
    put_offset(layout, view.value, start + sized_->view_offset(*view.node, view.out));
  }
  for (const InWindow& each : in_windows_)
    put_offset(layout, each.value, place_of(each.base).offset + written_view(*each.update).offset.value());
}

void SizeChanges::put_offset(Layout& layout, int value, int64_t offset) {
  int64_t& known = layout.places[static_cast<size_t>(value)].offset;
  if (known == offset) return;
  known = offset;
  SizeChange& change = changes_[static_cast<size_t>(value)];
  change = std::max(change, SizeChange::Offsets);
}

SizeChange SizeChanges::change_of(size_t step) const {
  const StepValues& read = step_values_[step];
  if (read.has_numbers) return SizeChange::Sizes;
  SizeChange most = SizeChange::None;
  for (int value : read.values) most = std::max(most, changes_[static_cast<size_t>(value)]);
  return most;
}

}  // namespace md
