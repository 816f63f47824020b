#include "symbolic/state/masked_parts.h"

#include <algorithm>

#include "graph/symbols.h"
#include "tensor/ops/op_row.h"
#include "tensor/simd/pointwise.h"

namespace md {
namespace {

bool is_part(const Node& node) {
  static const OpRow* const masked_part = find_op("masked_part");
  return node.op == masked_part;
}

// A square or a cube is no more than products.
bool is_small_power(const Node& node) {
  const auto* power = node.operands.size() > 1 ? std::get_if<Scalar>(&node.operands[1]) : nullptr;
  bool is_power = node.op->pointwise == static_cast<int>(Pointwise::pow);
  return is_power && power != nullptr && (power->as_double() == 2 || power->as_double() == 3);
}

// Whether computing it for the elements that are not wanted, too, costs less than choosing those that are.
bool is_cheap_by_element(const Node& node) {
  if (node.outs.size() != 1) return false;
  if (is_op(node, OpKind::Cast)) return true;
  if (node.op->pointwise < 0) return false;
  return !pointwise_rows()[static_cast<size_t>(node.op->pointwise)].is_costly || is_small_power(node);
}

}  // namespace

std::optional<Dim> MaskedParts::size_at(ValueRef mask) const {
  auto found = std::ranges::find_if(masks_, [&](const Mask& each) { return each.mask == mask; });
  return found == masks_.end() ? std::nullopt : std::optional(found->size);
}

void MaskedParts::note_site(ValueRef mask, OperatorSite site) {
  for (Mask& each : masks_)
    if (each.mask == mask) each.sites.insert(site);
}

const MaskedParts::Mask* MaskedParts::find(Dim size) const {
  auto found = std::ranges::find_if(masks_, [&](const Mask& each) { return same(each.size, size); });
  return found == masks_.end() ? nullptr : &*found;
}

const MaskedParts::Mask* MaskedParts::find(const Node& node) const {
  SymbolList symbols;
  add_symbols(symbols, node);
  for (Dim symbol : symbols.symbols())
    if (const Mask* mask = find(symbol)) return mask;
  return nullptr;
}

std::optional<ValueRef> MaskedParts::mask_of(const TensorSpec& spec) const {
  if (spec.rank() != 1 || !spec.sizes[0].is_symbolic()) return std::nullopt;
  const Mask* mask = find(spec.sizes[0]);
  return mask == nullptr ? std::nullopt : std::optional(mask->mask);
}

void MaskedParts::check(const Node& node) const {
  if (masks_.empty() || node.kind != NodeKind::Op) return;
  bool is_new = is_part(node);
  const Mask* mask = is_new ? nullptr : find(node);
  for (const Operand& operand : node.operands) {
    for_each_value(operand, [&](const ValueRef& value) {
      const TensorSpec& spec = value.node->outs[static_cast<size_t>(value.out)].spec;
      for (Dim size : spec.sizes)
        if (size.is_symbolic() && mask == nullptr) mask = find(size);
    });
  }
  if (mask == nullptr) return;
  if (!is_cheap_by_element(node)) refuse(*mask);
  for (const Operand& operand : node.operands) {
    if (std::holds_alternative<std::vector<ValueRef>>(operand)) refuse(*mask);
    const auto* value = std::get_if<ValueRef>(&operand);
    if (value == nullptr) continue;
    const ValueInfo& info = value->node->outs[static_cast<size_t>(value->out)];
    bool is_number = info.is_scalar || info.spec.rank() == 0;
    if (!is_number && (info.spec.rank() != 1 || !same(info.spec.sizes[0], mask->size))) refuse(*mask);
  }
}

std::vector<RuntimeAssert> MaskedParts::check_left(const Graph& graph, std::vector<RuntimeAssert> asserts) const {
  if (masks_.empty()) return asserts;
  for (const auto& node : graph.nodes())
    if (const Mask* mask = find(*node)) refuse(*mask);
  // Shape rules ask whether parts have one element or none. What else is asked, the program has read.
  std::erase_if(asserts, [&](const RuntimeAssert& each) {
    SymbolList symbols;
    symbols.add(each.a);
    symbols.add(each.b);
    for (Dim symbol : symbols.symbols()) {
      const Mask* mask = find(symbol);
      if (mask == nullptr) continue;
      if (each.relation != DimRelation::NotEqual) refuse(*mask);
      return true;
    }
    return false;
  });
  return asserts;
}

std::optional<ValueRef> MaskedParts::whole_of(ValueRef part) const {
  auto found = std::ranges::find_if(wholes_, [&](const auto& each) { return each.first == part; });
  return found == wholes_.end() ? std::nullopt : std::optional(found->second);
}

void MaskedParts::check_covered(const Node& node) const {
  const Mask* mask = masks_.empty() || is_part(node) ? nullptr : find(node);
  if (mask != nullptr && !whole_of({const_cast<Node*>(&node), 0})) refuse(*mask);
}

}  // namespace md
