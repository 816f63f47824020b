#include "graph/sized_graph.h"

#include <algorithm>

#include "graph/fixed_operands.h"
#include "graph/views.h"

namespace md {

SizedGraph::SizedGraph(std::shared_ptr<const Graph> symbolic, const SymbolList& symbols,
                       std::span<const int64_t> values)
    : symbolic_(std::move(symbolic)), graph_(with_numbers(*symbolic_, symbols, values)) {
  // Assertions are checked by with_numbers() alone.
  can_change_ = symbolic_->runtime_asserts().empty();
  KnownNumbers known;
  by_node_.resize(graph_->nodes().size());
  offset_dims_.resize(graph_->nodes().size());
  for (size_t i = 0; can_change_ && i < graph_->nodes().size(); ++i)
    add_node(*symbolic_->nodes()[i], *graph_->nodes()[i], symbols, known);
  can_change_ = can_change_ && evaluate(values) && is_as_evaluated();
  if (!can_change_) return;
  sizes_.assign(values.begin(), values.end());
  values_ = fresh_;
  for (size_t i = 0; i < numbers_.size(); ++i) numbers_[i].pattern = pattern_of(values_[i]);
}

size_t SizedGraph::number_of(Dim dim, const SymbolList& symbols, KnownNumbers& known) {
  auto found = std::find_if(known.begin(), known.end(), [&](const auto& pair) { return same(pair.first, dim); });
  if (found != known.end()) return found->second;
  known.emplace_back(dim, numbers_.size());
  SymbolList own;
  own.add(dim);
  Number& added = numbers_.emplace_back(Number{.code = DimCode(dim, symbols), .symbols = {}});
  for (Dim symbol : own.symbols()) added.symbols.push_back(static_cast<size_t>(symbols.find(symbol)));
  return known.back().second;
}

std::vector<size_t> SizedGraph::add_dims(const DimVec& from, DimVec& to, bool are_sizes, const SymbolList& symbols,
                                         KnownNumbers& known) {
  std::vector<size_t> added;
  if (from.size() != to.size()) {
    can_change_ = false;
    return added;
  }
  for (int i = 0; i < from.size(); ++i) {
    if (!from[i].is_symbolic()) continue;
    added.push_back(number_of(from[i], symbols, known));
    numbers_[added.back()].is_size |= are_sizes;
    numbers_[added.back()].dims.push_back(&to[i]);
  }
  return added;
}

void SizedGraph::add_node(const Node& from, Node& to, const SymbolList& symbols, KnownNumbers& known) {
  NodeNumbers& own = by_node_[static_cast<size_t>(from.index)];
  auto append = [](std::vector<size_t>& all, const std::vector<size_t>& added) {
    all.insert(all.end(), added.begin(), added.end());
  };
  for (size_t i = 0; i < from.operands.size(); ++i) {
    if (const auto* dims = std::get_if<DimVec>(&from.operands[i]))
      append(own.operands, add_dims(*dims, std::get<DimVec>(to.operands[i]), false, symbols, known));
    const auto* scalar = std::get_if<Scalar>(&from.operands[i]);
    if (scalar == nullptr || !scalar->is_symbolic()) continue;
    own.operands.push_back(number_of(scalar->as_dim(), symbols, known));
    numbers_[own.operands.back()].scalars.push_back(&to.operands[i]);
  }
  for (size_t i = 0; i < from.outs.size(); ++i) {
    std::vector<size_t>& out = own.outs.emplace_back();
    append(out, add_dims(from.outs[i].spec.sizes, to.outs[i].spec.sizes, true, symbols, known));
    append(out, add_dims(from.outs[i].spec.strides, to.outs[i].spec.strides, false, symbols, known));
  }
  if (is_op(from, OpKind::View)) add_view(from, to, symbols, known);
}

void SizedGraph::add_view(const Node& from, const Node& to, const SymbolList& symbols, KnownNumbers& known) {
  std::vector<OutSpec> now = view_outs(to), captured;
  try {
    DecidesByHint scope;
    captured = view_outs(from);
  } catch (const Error&) {
    can_change_ = false;
    return;
  }
  for (size_t i = 0; i < now.size(); ++i) {
    if (i >= captured.size() || captured[i].copies != now[i].copies) {
      can_change_ = false;
      return;
    }
    by_node_[static_cast<size_t>(from.index)].offsets.push_back(number_of(captured[i].view_offset, symbols, known));
    offset_dims_[static_cast<size_t>(from.index)].push_back(captured[i].view_offset);
  }
}

// Where a size grows from call to call, the same numbers change each time.
void SizedGraph::find_changing(std::span<const int64_t> values) {
  bool is_first = sizes_.empty();
  size_t differences = changed_symbols_.size() == values.size() ? 0 : 1;
  changed_symbols_.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    uint8_t changes = is_first || values[i] != sizes_[i];
    differences += changed_symbols_[i] != changes;
    changed_symbols_[i] = changes;
  }
  if (differences == 0) return;
  changing_.clear();
  for (size_t i = 0; i < numbers_.size(); ++i) {
    bool changes =
        std::ranges::any_of(numbers_[i].symbols, [&](size_t symbol) { return changed_symbols_[symbol] != 0; });
    if (is_first || changes) changing_.push_back(i);
  }
}

// The changing numbers, to fresh_.
bool SizedGraph::evaluate(std::span<const int64_t> values) {
  find_changing(values);
  fresh_.resize(numbers_.size());
  for (size_t i : changing_) {
    std::optional<int64_t> value = numbers_[i].code.evaluate(values);
    if (!value || (numbers_[i].is_size && *value < 0)) return false;
    fresh_[i] = *value;
  }
  return true;
}

// The numbers that the shape rules found, offsets of views included.
bool SizedGraph::is_as_evaluated() const {
  for (size_t i = 0; i < numbers_.size(); ++i) {
    for (const Dim* dim : numbers_[i].dims)
      if (dim->value() != fresh_[i]) return false;
  }
  return std::ranges::all_of(graph_->nodes(), [this](const auto& node) {
    const std::vector<size_t>& offsets = numbers_of(*node).offsets;
    if (offsets.empty()) return true;
    std::vector<OutSpec> now = view_outs(*node);
    return std::ranges::equal(
        now, offsets, [this](const OutSpec& out, size_t number) { return out.view_offset.value() == fresh_[number]; });
  });
}

bool SizedGraph::take_sizes(std::span<const int64_t> values) {
  if (!can_change_ || !evaluate(values)) return false;
  bool keeps_pattern = std::ranges::all_of(
      changing_, [this](size_t i) { return !numbers_[i].is_size || pattern_of(fresh_[i]) == numbers_[i].pattern; });
  if (!keeps_pattern) return false;
  std::ranges::copy(values, sizes_.begin());
  for (size_t i : changing_) {
    if (fresh_[i] == values_[i]) continue;
    values_[i] = fresh_[i];
    for (Dim* dim : numbers_[i].dims) *dim = fresh_[i];
    for (Operand* scalar : numbers_[i].scalars) *scalar = Scalar(fresh_[i]);
  }
  return true;
}

SizedGraph::InBase SizedGraph::place_in_base(ValueRef value) const {
  InBase place{value, Dim(0)};
  while (is_op(*place.base.node, OpKind::View) && is_strided_view(*place.base.node)) {
    const std::vector<Dim>& offsets = offset_dims_[static_cast<size_t>(place.base.node->index)];
    place.offset = place.offset + offsets[static_cast<size_t>(place.base.out)];
    place.base = std::get<ValueRef>(place.base.node->operands[0]);
  }
  return place;
}

bool SizedGraph::keep_distance(ValueRef a, ValueRef b) const {
  InBase first = place_in_base(a), second = place_in_base(b);
  return first.base == second.base && !(first.offset - second.offset).is_symbolic();
}

bool has_symbols(const Node& node) {
  return std::any_of(node.outs.begin(), node.outs.end(),
                     [](const ValueInfo& info) { return !has_fixed_layout(info.spec); }) ||
         has_symbolic_operand(node);
}

bool has_symbolic_operand(const Node& node) { return !std::ranges::all_of(node.operands, is_fixed_operand); }

}  // namespace md
