#include "executor/loops/gather_rows.h"

#include <algorithm>

#include "graph/value_info.h"
#include "tensor/kernels/reduction.h"

namespace md {
namespace {

constexpr int64_t kLeastRowBytes = 128;

// Table of gathers: which operands are the table and the index, and whether negative indices count from the end.
struct GatherRow {
  OpRole op;
  size_t table, index;
  bool wraps;
};
constexpr GatherRow kGathers[] = {
    {OpRole::Index, 0, 1, true}, {OpRole::IndexSelect, 0, 2, false}, {OpRole::Embedding, 1, 0, false}};

// Whether the operands select the first dim.
bool is_along_first(const Node& node) {
  if (node.op->role() == OpRole::Index) {
    const auto* dims = std::get_if<DimVec>(&node.operands[2]);
    return dims != nullptr && dims->size() == 1 && (*dims)[0].value() == 0;
  }
  if (node.op->role() == OpRole::Embedding) return true;
  const auto* dim = std::get_if<Scalar>(&node.operands[1]);
  const auto* self = std::get_if<ValueRef>(&node.operands[0]);
  return dim != nullptr && self != nullptr && (dim->as_int() == 0 || dim->as_int() == -info_of(*self).spec.rank());
}

std::optional<ValueRef> as_index(const Operand& operand) {
  const auto* value = std::get_if<ValueRef>(&operand);
  const auto* list = std::get_if<std::vector<ValueRef>>(&operand);
  if (list != nullptr && list->size() == 1) value = &(*list)[0];
  if (value == nullptr || info_of(*value).is_scalar) return std::nullopt;
  const TensorSpec& spec = spec_of(*value);
  bool is_plain = spec.dtype == DType::int64 && spec.is_contiguous() && spec.rank() > 0 && spec.numel().value() > 1;
  return is_plain ? std::optional(*value) : std::nullopt;
}

// Each row is contiguous.
bool has_plain_rows(const TensorSpec& spec) {
  Dim expected = 1;
  for (int d = spec.rank() - 1; d > 0; --d) {
    if (spec.sizes[d].value() != 1 && spec.strides[d].value() != expected.value()) return false;
    expected = expected * spec.sizes[d];
  }
  return spec.rank() > 1 && spec.sizes[0].value() > 0 &&
         expected.value() * static_cast<int64_t>(item_size(spec.dtype)) >= kLeastRowBytes;
}

// The dims of a reduction, as a range [first, second) that ends before the last dim;
// empty if they are not of this form.
std::pair<int, int> middle_dims(const Operand& dims, int rank) {
  if (rank < 2) return {0, 0};
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  auto add = [&](int64_t dim) { reduced[static_cast<size_t>(dim < 0 ? dim + rank : dim)] = true; };
  if (const auto* one = std::get_if<Scalar>(&dims)) add(one->as_int());
  if (const auto* list = std::get_if<DimVec>(&dims)) {
    for (Dim dim : *list) add(dim.value());
  }
  auto first = std::find(reduced.begin(), reduced.end(), true);
  auto end = std::find(first, reduced.end(), false);
  bool is_stretch = end != reduced.end() && std::find(end, reduced.end(), true) == reduced.end();
  if (first == reduced.end() || !is_stretch) return {0, 0};
  return {static_cast<int>(first - reduced.begin()), static_cast<int>(end - reduced.begin())};
}

std::optional<RowSums> as_index_add(const Node& node) {
  const auto* self = std::get_if<ValueRef>(&node.operands[0]);
  const auto* source = std::get_if<ValueRef>(&node.operands[3]);
  const auto* alpha = std::get_if<Scalar>(&node.operands[4]);
  std::optional<ValueRef> index = as_index(node.operands[2]);
  const TensorSpec& out = node.outs[0].spec;
  bool is_one = alpha != nullptr && alpha->as_double() == 1;
  if (self == nullptr || source == nullptr || !index || !is_one || !is_along_first(node)) return std::nullopt;
  bool is_plain = out.is_contiguous() && has_plain_rows(out) && out.dtype != DType::bool_ &&
                  spec_of(*source).dtype == out.dtype && spec_of(*source).rank() == out.rank();
  if (!is_plain) return std::nullopt;
  return RowSums{.source = *source, .index = index, .self = *self};
}

// Sums in the kernel's order: from the first row to the last.
std::optional<RowSums> as_middle_sum(const Node& node) {
  const auto* source = std::get_if<ValueRef>(&node.operands[0]);
  if (source == nullptr || info_of(*source).is_scalar) return std::nullopt;
  const TensorSpec& spec = spec_of(*source);
  const TensorSpec& out = node.outs[0].spec;
  bool is_float = spec.dtype == DType::float32 || spec.dtype == DType::float64;
  if (!is_float || out.dtype != spec.dtype || !out.is_contiguous()) return std::nullopt;
  auto [first, end] = middle_dims(node.operands[1], spec.rank());
  int64_t repeat = 1;
  for (int d = first; d < end; ++d) repeat *= spec.sizes[d].value();
  if (first == end || repeat < 1 || repeat > kMostRowsInOneSum) return std::nullopt;
  return RowSums{.source = *source, .repeat = repeat, .is_mean = node.op->role() == OpRole::Mean};
}

// The leading dims of its result are those of the index.
int row_dims_of_gather(const Node& node) { return spec_of(as_row_gather(node).value().index).rank(); }

class Joining {
 public:
  Joining(std::vector<Group>& groups, const LoweringContext& context)
      : groups_(groups), context_(context), group_of_(context.users.size(), -1) {
    for (size_t i = 0; i < groups.size(); ++i) number_nodes(i);
  }

  void run() {
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].kind == GroupKind::Pointwise) join_gathers(i);
    }
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].kind == GroupKind::Single && groups_[i].nodes.size() == 1) join_sums(i);
    }
    std::erase_if(groups_, [](const Group& group) { return group.nodes.empty(); });
  }

 private:
  void number_nodes(size_t i) {
    for (const Node* node : groups_[i].nodes) group_of_[static_cast<size_t>(node->index)] = static_cast<int>(i);
  }
  int group_of(const Node& node) const {
    return node.kind == NodeKind::Op ? group_of_[static_cast<size_t>(node.index)] : -1;
  }
  bool is_single(const Node& node) const {
    int group = group_of(node);
    return group >= 0 && groups_[static_cast<size_t>(group)].kind == GroupKind::Single;
  }

  bool feeds_only(const Node& node, const Group& group) const { return !context_.is_seen_outside(node, group); }

  void join_gathers(size_t at) {
    Group& group = groups_[at];
    bool is_used = std::any_of(group.nodes.begin(), group.nodes.end(),
                               [&](const Node* node) { return context_.is_seen_outside(*node, group); });
    std::vector<const Node*> gathers;
    int dims = 0;
    for (const Node* node : group.nodes) {
      for (const Operand& operand : node->operands) {
        for_each_value(operand, [&](const ValueRef& value) {
          const Node* read = value.node;
          bool is_known = std::find(gathers.begin(), gathers.end(), read) != gathers.end();
          if (is_known || !is_single(*read) || !as_row_gather(*read) || !feeds_only(*read, group)) return;
          bool fits = same(read->outs[0].spec.sizes, group.sizes) && (dims == 0 || dims == row_dims_of_gather(*read));
          if (!fits || gathers.size() + 1 >= kMaxRowChoices) return;
          dims = row_dims_of_gather(*read);
          gathers.push_back(read);
        });
      }
    }
    if (!is_used || gathers.empty()) return;
    Group joined;
    joined.sizes = group.sizes;
    joined.folds_rows = group.folds_rows;
    joined.gathers = gathers;
    for (const Node* gather : gathers) take(joined, static_cast<size_t>(group_of(*gather)));
    take(joined, at);
    put(std::move(joined), at);
  }

  void join_sums(size_t at) {
    const Node& node = *groups_[at].nodes[0];
    std::optional<RowSums> sums = as_row_sums(node);
    int from = sums ? group_of(*sums->source.node) : -1;
    if (from < 0 || static_cast<size_t>(from) == at) return;
    Group& source = groups_[static_cast<size_t>(from)];
    bool is_gather = source.kind == GroupKind::Single && as_row_gather(*sums->source.node).has_value();
    bool is_loop = source.kind == GroupKind::ChosenRows || (source.kind == GroupKind::Pointwise && sums->index);
    if ((!is_loop && !is_gather) || source.sums != nullptr || source.folds_rows) return;
    if (is_gather) {
      source.gathers = {source.nodes[0]};
      source.sizes = source.nodes[0]->outs[0].spec.sizes;
    }
    int dims = row_dims(node);
    bool fits = same(spec_of(sums->source).sizes, source.sizes) &&
                std::all_of(source.gathers.begin(), source.gathers.end(),
                            [&](const Node* gather) { return row_dims_of_gather(*gather) == dims; });
    if (!fits) return;
    Group both;
    both.nodes = source.nodes;
    both.nodes.push_back(&node);
    bool is_hidden = std::all_of(source.nodes.begin(), source.nodes.end(),
                                 [&](const Node* other) { return feeds_only(*other, both); });
    bool is_only_source = std::none_of(source.nodes.begin(), source.nodes.end(), [&](const Node* other) {
      return (sums->self && sums->self->node == other) || (sums->index && sums->index->node == other);
    });
    if (!is_hidden || !is_only_source) return;
    Group joined;
    joined.sizes = source.sizes;
    joined.gathers = source.gathers;
    joined.sums = &node;
    take(joined, static_cast<size_t>(from));
    take(joined, at);
    put(std::move(joined), at);
  }

  // Moves the group, or its parts, into the parts of `joined`.
  void take(Group& joined, size_t at) {
    Group part = std::exchange(groups_[at], {});
    joined.nodes.insert(joined.nodes.end(), part.nodes.begin(), part.nodes.end());
    if (part.parts.empty()) {
      joined.parts.push_back(std::move(part));
      return;
    }
    for (Group& inner : part.parts) joined.parts.push_back(std::move(inner));
  }
  void put(Group joined, size_t at) {
    joined.kind = GroupKind::ChosenRows;
    std::sort(joined.nodes.begin(), joined.nodes.end(),
              [](const Node* a, const Node* b) { return a->index < b->index; });
    groups_[at] = std::move(joined);
    number_nodes(at);
  }

  std::vector<Group>& groups_;
  const LoweringContext& context_;
  std::vector<int> group_of_;
};

}  // namespace

std::optional<RowGather> as_row_gather(const Node& node) {
  if (!is_op(node, OpKind::Gather) || node.outs.size() != 1) return std::nullopt;
  auto row = std::find_if(std::begin(kGathers), std::end(kGathers),
                          [&](const GatherRow& r) { return node.op->role() == r.op; });
  if (row == std::end(kGathers) || !is_along_first(node)) return std::nullopt;
  const auto* table = std::get_if<ValueRef>(&node.operands[row->table]);
  std::optional<ValueRef> index = as_index(node.operands[row->index]);
  if (table == nullptr || !index || !has_plain_rows(spec_of(*table))) return std::nullopt;
  return RowGather{.table = *table, .index = *index, .wraps = row->wraps};
}

std::optional<RowSums> as_row_sums(const Node& node) {
  if (node.kind != NodeKind::Op || node.outs.size() != 1) return std::nullopt;
  OpRole role = node.op->role();
  if (role == OpRole::IndexAdd) return as_index_add(node);
  if (role == OpRole::Sum || role == OpRole::Mean) return as_middle_sum(node);
  return std::nullopt;
}

int row_dims(const Node& sums) {
  std::optional<RowSums> found = as_row_sums(sums);
  if (found->index) return 1;
  return middle_dims(sums.operands[1], spec_of(found->source).rank()).second;
}

void join_chosen_rows(std::vector<Group>& groups, const LoweringContext& context) { Joining(groups, context).run(); }

}  // namespace md
