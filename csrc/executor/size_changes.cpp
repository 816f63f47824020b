#include "executor/size_changes.h"

#include <algorithm>
#include <utility>

namespace md {
namespace {

using Numbers = std::vector<uint8_t>;

bool contains_any(const Numbers& changed, std::span<const size_t> numbers) {
  return std::ranges::any_of(numbers, [&](size_t number) { return changed[number] != 0; });
}

}  // namespace

SizeChanges::SizeChanges(std::shared_ptr<const SizedGraph> sized, const BufferAssignment& places,
                         std::vector<StepMemory> memory, std::span<const std::vector<const Node*>> nodes,
                         std::span<const WritePlacement::Moved> moved)
    : dependence_(find_dependence(std::move(sized), places, memory, nodes, moved)), memory_(std::move(memory)) {
  std::span<const int64_t> numbers = dependence_->sized->numbers();
  numbers_.assign(numbers.begin(), numbers.end());
}

std::shared_ptr<const SizeChanges::Dependence> SizeChanges::find_dependence(
    std::shared_ptr<const SizedGraph> sized, const BufferAssignment& places, std::span<const StepMemory> memory,
    std::span<const std::vector<const Node*>> nodes, std::span<const WritePlacement::Moved> moved) {
  auto found = std::make_shared<Dependence>();
  const Layout& layout = places.layout();
  for (const Place& place : layout.places) found->buffer_of.push_back(place.buffer);
  for (const Buffer& buffer : layout.buffers) found->takes_memory.push_back(buffer.home == BufferHome::Output);
  for (const StepMemory& step : memory) {
    for (int value : step.touched) {
      auto buffer = static_cast<size_t>(found->buffer_of[static_cast<size_t>(value)]);
      if (layout.buffers[buffer].home == BufferHome::Arena) found->takes_memory[buffer] = true;
    }
  }
  for (const auto& node : sized->graph().nodes()) {
    bool is_alias = places.is_alias(*node);
    int base = is_alias ? places.number(std::get<ValueRef>(node->operands[0])) : -1;
    for (int out = 0; out < static_cast<int>(node->outs.size()); ++out) {
      Result result = {places.number({node.get(), out}), node.get(), out};
      if (is_alias) found->views.push_back({result, base});
      // What lies in a window has the layout of that, which stays.
      bool is_moved = std::ranges::find(moved, result.value, &WritePlacement::Moved::value) != moved.end();
      bool changes = !sized->numbers_of(*node).outs[static_cast<size_t>(out)].empty();
      if (changes && !is_moved && node->kind != NodeKind::ScalarInput) found->changing.push_back(result);
    }
  }
  for (const WritePlacement::Moved& each : moved)
    found->in_windows.push_back({each.value, places.number({const_cast<Node*>(each.update), 0}), each.update});
  for (size_t i = 0; i < nodes.size(); ++i) {
    // What it touches may come from other nodes than its own: a write copies from behind a copy.
    StepValues& read = found->steps.emplace_back(StepValues{.values = memory[i].touched});
    read.is_unknown = nodes[i].empty();
    for (const Node* node : nodes[i]) {
      const std::vector<size_t>& numbers = sized->numbers_of(*node).operands;
      read.numbers.insert(read.numbers.end(), numbers.begin(), numbers.end());
      for (int out = 0; out < static_cast<int>(node->outs.size()); ++out)
        read.values.push_back(places.number({const_cast<Node*>(node), out}));
      for (const Operand& operand : node->operands)
        for_each_value(operand, [&](const ValueRef& value) { read.values.push_back(places.number(value)); });
    }
    std::ranges::sort(read.values);
    auto repeated = std::ranges::unique(read.values);
    read.values.erase(repeated.begin(), repeated.end());
  }
  found->sized = std::move(sized);
  return found;
}

void SizeChanges::put_sizes(Layout& layout, bool all) {
  if (!is_as_before(all)) find_affected(layout, all);
  for (const View* view : affected_.views) changes_[static_cast<size_t>(view->value)] = SizeChange::None;
  for (const InWindow* each : affected_.in_windows) changes_[static_cast<size_t>(each->value)] = SizeChange::None;
  has_resized_ = false;
  for (const Result* result : affected_.results) put_result(layout, *result);
  for (int buffer : affected_.buffers) put_size(layout, buffer);
  auto dtype_of = [&](int value) { return layout.places[static_cast<size_t>(value)].spec.dtype; };
  auto offset_of = [&](int value) { return layout.places[static_cast<size_t>(value)].offset; };
  for (const View* view : affected_.views) {
    int64_t start = offset_in(dtype_of(view->value), offset_of(view->base), dtype_of(view->base));
    put_offset(layout, view->value, start + dependence_->sized->view_offset(*view->node, view->out));
  }
  for (const InWindow* each : affected_.in_windows) {
    // A copy writes all of its target.
    int64_t within = writes_view(*each->update->op) ? written_view(*each->update).offset.value() : 0;
    put_offset(layout, each->value, offset_of(each->base) + within);
  }
  std::span<const int64_t> numbers = dependence_->sized->numbers();
  std::ranges::copy(numbers, numbers_.begin());
}

void SizeChanges::part_buffers(Layout& layout) const {
  for (size_t value = 0; value < layout.places.size(); ++value)
    layout.places[value].buffer = dependence_->buffer_of[value];
}

// Whether the same numbers have changed as the last time.
bool SizeChanges::is_as_before(bool all) {
  std::span<const int64_t> now = dependence_->sized->numbers();
  if (affected_.numbers.size() != now.size()) return false;
  size_t differences = 0;
  for (size_t i = 0; i < now.size(); ++i)
    differences += affected_.numbers[i] != static_cast<uint8_t>(all || now[i] != numbers_[i]);
  return differences == 0;
}

void SizeChanges::find_affected(const Layout& layout, bool all) {
  const SizedGraph& sized = *dependence_->sized;
  std::span<const int64_t> now = sized.numbers();
  affected_ = {.numbers = Numbers(now.size())};
  for (size_t i = 0; i < now.size(); ++i) affected_.numbers[i] = all || now[i] != numbers_[i];
  changes_.assign(layout.places.size(), SizeChange::None);
  std::vector<bool> is_affected(layout.places.size());  // the offset at most, or the spec
  for (const Result& result : dependence_->changing) {
    const auto& outs = sized.numbers_of(*result.node).outs;
    if (!contains_any(affected_.numbers, outs[static_cast<size_t>(result.out)])) continue;
    affected_.results.push_back(&result);
    is_affected[static_cast<size_t>(result.value)] = true;
  }
  for (size_t i = 0; i < layout.buffers.size(); ++i) {
    bool changes = is_affected[static_cast<size_t>(layout.buffers[i].root)];
    if (changes && dependence_->takes_memory[i]) affected_.buffers.push_back(static_cast<int>(i));
  }
  std::vector<bool> has_moved(layout.places.size());
  for (const View& view : dependence_->views) {
    auto value = static_cast<size_t>(view.value);
    size_t offset = sized.numbers_of(*view.node).offsets[static_cast<size_t>(view.out)];
    has_moved[value] = has_moved[static_cast<size_t>(view.base)] || affected_.numbers[offset] != 0;
    if (has_moved[value]) affected_.views.push_back(&view);
    is_affected[value] = is_affected[value] || has_moved[value];
  }
  for (const InWindow& each : dependence_->in_windows) {
    affected_.in_windows.push_back(&each);
    is_affected[static_cast<size_t>(each.value)] = true;
  }
  find_steps(is_affected);
}

void SizeChanges::find_steps(const std::vector<bool>& is_affected) {
  for (size_t i = 0; i < dependence_->steps.size(); ++i) {
    const StepValues& read = dependence_->steps[i];
    bool depends = read.is_unknown || contains_any(affected_.numbers, read.numbers) ||
                   std::ranges::any_of(read.values, [&](int value) { return is_affected[static_cast<size_t>(value)]; });
    if (depends) affected_.steps.push_back(static_cast<int>(i));
  }
}

void SizeChanges::put_result(Layout& layout, const Result& result) {
  TensorSpec& spec = layout.places[static_cast<size_t>(result.value)].spec;
  const TensorSpec& now = result.node->outs[static_cast<size_t>(result.out)].spec;
  spec.sizes = now.sizes;
  spec.strides = now.strides;
  changes_[static_cast<size_t>(result.value)] = SizeChange::Sizes;
}

void SizeChanges::put_size(Layout& layout, int index) {
  Buffer& buffer = layout.buffers[static_cast<size_t>(index)];
  const TensorSpec& root = layout.places[static_cast<size_t>(buffer.root)].spec;
  int64_t nbytes = span_nbytes(root), lead = lead_of(root);
  has_resized_ = has_resized_ || nbytes != buffer.nbytes || lead != buffer.lead;
  buffer.nbytes = nbytes;
  buffer.lead = lead;
}

void SizeChanges::put_offset(Layout& layout, int value, int64_t offset) {
  int64_t& known = layout.places[static_cast<size_t>(value)].offset;
  if (known == offset) return;
  known = offset;
  SizeChange& change = changes_[static_cast<size_t>(value)];
  change = std::max(change, SizeChange::Offsets);
}

SizeChange SizeChanges::change_of(int step) const {
  const StepValues& read = dependence_->steps[static_cast<size_t>(step)];
  if (read.is_unknown || contains_any(affected_.numbers, read.numbers)) return SizeChange::Sizes;
  SizeChange most = SizeChange::None;
  for (int value : read.values) most = std::max(most, changes_[static_cast<size_t>(value)]);
  return most;
}

}  // namespace md
