#include "graph/sized_graph.h"

#include <algorithm>

#include "graph/views.h"

namespace md {

SizedGraph::SizedGraph(std::shared_ptr<const Graph> symbolic, const SymbolList& symbols,
                       std::span<const int64_t> values)
    : symbolic_(std::move(symbolic)), graph_(with_numbers(*symbolic_, symbols, values)) {
  // Assertions are checked by with_numbers() alone.
  can_change_ = symbolic_->runtime_asserts().empty();
  std::vector<std::pair<Dim, size_t>> known;
  first_offset_.resize(graph_->nodes().size(), 0);
  for (size_t i = 0; can_change_ && i < graph_->nodes().size(); ++i)
    add_node(*symbolic_->nodes()[i], *graph_->nodes()[i], symbols, known);
  can_change_ = can_change_ && evaluate(values) && is_as_evaluated();
  for (size_t i = 0; can_change_ && i < numbers_.size(); ++i) {
    numbers_[i].value = fresh_[i];
    numbers_[i].pattern = pattern_of(fresh_[i]);
  }
}

size_t SizedGraph::number_of(Dim dim, const SymbolList& symbols, std::vector<std::pair<Dim, size_t>>& known) {
  auto found = std::find_if(known.begin(), known.end(), [&](const auto& pair) { return same(pair.first, dim); });
  if (found != known.end()) return found->second;
  known.emplace_back(dim, numbers_.size());
  numbers_.push_back({.code = DimCode(dim, symbols)});
  return known.back().second;
}

void SizedGraph::add_dims(const DimVec& from, DimVec& to, bool are_sizes, const SymbolList& symbols,
                          std::vector<std::pair<Dim, size_t>>& known) {
  if (from.size() != to.size()) {
    can_change_ = false;
    return;
  }
  for (int i = 0; i < from.size(); ++i) {
    if (!from[i].is_symbolic()) continue;
    size_t number = number_of(from[i], symbols, known);
    numbers_[number].is_size |= are_sizes;
    dims_.push_back({&to[i], number});
  }
}

void SizedGraph::add_node(const Node& from, Node& to, const SymbolList& symbols,
                          std::vector<std::pair<Dim, size_t>>& known) {
  for (size_t i = 0; i < from.operands.size(); ++i) {
    if (const auto* dims = std::get_if<DimVec>(&from.operands[i]))
      add_dims(*dims, std::get<DimVec>(to.operands[i]), false, symbols, known);
    const auto* scalar = std::get_if<Scalar>(&from.operands[i]);
    if (scalar != nullptr && scalar->is_symbolic())
      scalars_.push_back({&to.operands[i], number_of(scalar->as_dim(), symbols, known)});
  }
  for (size_t i = 0; i < from.outs.size(); ++i) {
    add_dims(from.outs[i].spec.sizes, to.outs[i].spec.sizes, true, symbols, known);
    add_dims(from.outs[i].spec.strides, to.outs[i].spec.strides, false, symbols, known);
  }
  if (is_op(from, OpKind::View)) add_view(from, to, symbols, known);
}

void SizedGraph::add_view(const Node& from, const Node& to, const SymbolList& symbols,
                          std::vector<std::pair<Dim, size_t>>& known) {
  first_offset_[static_cast<size_t>(from.index)] = offsets_.size();
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
    offsets_.push_back(number_of(captured[i].view_offset, symbols, known));
    offset_dims_.push_back(captured[i].view_offset);
    numbers_[offsets_.back()].value = now[i].view_offset.value();
  }
}

bool SizedGraph::evaluate(std::span<const int64_t> values) {
  // In the strides of an input an extent of zero counts as one.
  if (std::find(values.begin(), values.end(), 0) != values.end()) return false;
  fresh_.clear();
  for (const Number& number : numbers_) {
    std::optional<int64_t> value = number.code.evaluate(values);
    if (!value || (number.is_size && *value < 0)) return false;
    fresh_.push_back(*value);
  }
  return true;
}

// The numbers that the shape rules found, offsets of views included; keeps the evaluated ones.
bool SizedGraph::is_as_evaluated() const {
  bool same_offsets = std::all_of(offsets_.begin(), offsets_.end(),
                                  [&](size_t number) { return numbers_[number].value == fresh_[number]; });
  return same_offsets && std::all_of(dims_.begin(), dims_.end(),
                                     [&](const DimPlace& place) { return place.dim->value() == fresh_[place.number]; });
}

bool SizedGraph::take_sizes(std::span<const int64_t> values) {
  if (!can_change_ || !evaluate(values)) return false;
  for (size_t i = 0; i < numbers_.size(); ++i) {
    if (numbers_[i].is_size && pattern_of(fresh_[i]) != numbers_[i].pattern) return false;
  }
  for (size_t i = 0; i < numbers_.size(); ++i) numbers_[i].value = fresh_[i];
  for (const DimPlace& place : dims_) *place.dim = numbers_[place.number].value;
  for (const ScalarPlace& place : scalars_) *place.operand = Scalar(numbers_[place.number].value);
  return true;
}

int64_t SizedGraph::view_offset(const Node& node, int out) const {
  size_t first = first_offset_[static_cast<size_t>(node.index)];
  return numbers_[offsets_[first + static_cast<size_t>(out)]].value;
}

SizedGraph::InBase SizedGraph::place_in_base(ValueRef value) const {
  InBase place{value, Dim(0)};
  while (is_op(*place.base.node, OpKind::View) && is_strided_view(*place.base.node)) {
    size_t first = first_offset_[static_cast<size_t>(place.base.node->index)];
    place.offset = place.offset + offset_dims_[first + static_cast<size_t>(place.base.out)];
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

bool has_symbolic_operand(const Node& node) {
  return std::any_of(node.operands.begin(), node.operands.end(), [&](const Operand& operand) {
    const auto* dims = std::get_if<DimVec>(&operand);
    const auto* scalar = std::get_if<Scalar>(&operand);
    return (dims != nullptr && any_symbolic(dims->span())) || (scalar != nullptr && scalar->is_symbolic());
  });
}

}  // namespace md
