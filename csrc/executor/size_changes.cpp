#include "executor/size_changes.h"

#include <algorithm>
#include <utility>

namespace md {

SizeChanges::SizeChanges(std::shared_ptr<const SizedGraph> sized, const BufferAssignment& places,
                         std::vector<StepMemory> memory, std::span<const std::vector<const Node*>> nodes)
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
      if (changes && node->kind != NodeKind::ScalarInput) changing_.push_back(result);
    }
  }
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
  has_changed_.assign(layout.places.size(), false);
  has_resized_ = false;
  for (size_t value = 0; value < buffer_of_.size(); ++value) layout.places[value].buffer = buffer_of_[value];
  for (const Result& result : changing_) {
    TensorSpec& spec = layout.places[static_cast<size_t>(result.value)].spec;
    const TensorSpec& now = result.node->outs[static_cast<size_t>(result.out)].spec;
    if (same_layout(spec, now)) continue;
    spec.sizes = now.sizes;
    spec.strides = now.strides;
    has_changed_[static_cast<size_t>(result.value)] = true;
  }
  for (size_t i = 0; i < layout.buffers.size(); ++i) {
    Buffer& buffer = layout.buffers[i];
    if (!has_changed_[static_cast<size_t>(buffer.root)]) continue;
    const TensorSpec& root = layout.places[static_cast<size_t>(buffer.root)].spec;
    int64_t nbytes = span_nbytes(root), lead = lead_of(root);
    has_resized_ = has_resized_ || (may_move_[i] && (nbytes != buffer.nbytes || lead != buffer.lead));
    buffer.nbytes = nbytes;
    buffer.lead = lead;
  }
  for (const View& view : views_) {
    int64_t& offset = layout.places[static_cast<size_t>(view.value)].offset;
    int64_t now = layout.places[static_cast<size_t>(view.base)].offset + sized_->view_offset(*view.node, view.out);
    if (now == offset) continue;
    offset = now;
    has_changed_[static_cast<size_t>(view.value)] = true;
  }
}

bool SizeChanges::concerns(size_t step) const {
  const StepValues& read = step_values_[step];
  return read.has_numbers ||
         std::ranges::any_of(read.values, [&](int value) { return has_changed_[static_cast<size_t>(value)]; });
}

}  // namespace md
