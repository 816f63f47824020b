#include "graph/merge_products.h"

#include <algorithm>
#include <optional>

#include "graph/value_info.h"

namespace md {
namespace {

constexpr size_t kFewest = 4;

// The product of one slice: linear(base[index], ...) or base[index] @ matrix.
struct Slice {
  Node* product;
  ValueRef base;
  int64_t index;
};

std::optional<Slice> as_slice(Node& node) {
  if (!is_op(node, OpRole::Matmul) && !is_op(node, OpRole::Linear)) return std::nullopt;
  const auto* input = std::get_if<ValueRef>(&node.operands[0]);
  const auto* matrix = std::get_if<ValueRef>(&node.operands[1]);
  if (input == nullptr || matrix == nullptr || info_of(*matrix).spec.rank() != 2) return std::nullopt;
  const Node& view = *input->node;
  if (!is_op(view, OpRole::Select)) return std::nullopt;
  ValueRef base = std::get<ValueRef>(view.operands[0]);
  const auto* dim = std::get_if<Scalar>(&view.operands[1]);
  const auto* index = std::get_if<Scalar>(&view.operands[2]);
  const TensorSpec& spec = info_of(base).spec;
  bool usable = dim != nullptr && index != nullptr && dim->as_int() == 0 && spec.rank() >= 3 && spec.is_contiguous() &&
                !any_symbolic(spec.sizes.span());
  if (!usable) return std::nullopt;
  int64_t count = spec.sizes[0].value(), at = index->as_int();
  if (at < 0) at += count;
  return Slice{&node, base, at};
}

bool same_operand(const Operand& a, const Operand& b) {
  const auto* value = std::get_if<ValueRef>(&a);
  const auto* other = std::get_if<ValueRef>(&b);
  if (value == nullptr) return std::holds_alternative<std::monostate>(a) && std::holds_alternative<std::monostate>(b);
  return other != nullptr && *value == *other;
}

// Whether the products differ only in the slice.
bool same_product(const Slice& a, const Slice& b) {
  if (a.product->op != b.product->op || a.base != b.base) return false;
  for (size_t i = 1; i < a.product->operands.size(); ++i) {
    if (!same_operand(a.product->operands[i], b.product->operands[i])) return false;
  }
  return true;
}

std::vector<std::vector<Slice>> find_slices(const Graph& graph) {
  std::vector<bool> escapes = graph.escaping();
  std::vector<std::vector<Slice>> found;
  for (const auto& node : graph.nodes()) {
    // Values that escape keep their own storage.
    if (node->kind != NodeKind::Op || escapes[static_cast<size_t>(node->index)]) continue;
    std::optional<Slice> slice = as_slice(*node);
    if (!slice) continue;
    auto same = std::find_if(found.begin(), found.end(),
                             [&](const std::vector<Slice>& group) { return same_product(group[0], *slice); });
    if (same == found.end()) {
      found.push_back({*slice});
    } else {
      same->push_back(*slice);
    }
  }
  // Not worthwhile if most of the whole product would be unused.
  std::erase_if(found, [](const std::vector<Slice>& group) {
    int64_t count = info_of(group[0].base).spec.sizes[0].value();
    return group.size() < kFewest || 2 * static_cast<int64_t>(group.size()) < count;
  });
  return found;
}

void merge(Graph& graph, const std::vector<Slice>& slices) {
  static const OpRow* const select = find_op("select");
  static const OpRow* const matmul = find_op("matmul");  // mm takes no batch of matrices
  Node& first = *slices[0].product;
  std::vector<Operand> operands = first.operands;
  operands[0] = slices[0].base;
  Node* whole =
      graph.insert_op(first, is_op(first, OpRole::Linear) ? *first.op : *matmul, std::move(operands), first.location);
  for (const Slice& slice : slices) {
    slice.product->op = select;
    slice.product->operands = {ValueRef{whole}, Scalar(int64_t{0}), Scalar(slice.index)};
    slice.product->outs = infer_outs(*select, slice.product->operands);
  }
}

}  // namespace

std::unique_ptr<Graph> merge_products(const Graph& graph) {
  if (find_slices(graph).empty()) return nullptr;
  std::unique_ptr<Graph> merged = graph.clone();
  for (const std::vector<Slice>& slices : find_slices(*merged)) merge(*merged, slices);
  return merged;
}

}  // namespace md
