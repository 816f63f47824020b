#include "executor/loops/turned_operands.h"

#include <algorithm>
#include <utility>

#include "graph/value_info.h"
#include "tensor/ops/kernels.h"

namespace md {
namespace {

// Of a roll without dims the elements in their order are one dim.
bool is_over_all(const Node& node) { return std::get<DimVec>(node.operands[2]).empty(); }

// Dims through which the operand is read alike become one.
void merge_dims(Turn& turn) {
  for (size_t d = turn.sizes.size(); d-- > 1;) {
    bool is_one = turn.shifts[d] == 0 && turn.strides[d - 1] == turn.strides[d] * turn.sizes[d];
    if (!is_one) continue;
    turn.sizes[d - 1] *= turn.sizes[d];
    turn.shifts[d - 1] *= turn.sizes[d];
    turn.strides[d - 1] = turn.strides[d];
    for (auto* each : {&turn.sizes, &turn.shifts, &turn.strides})
      each->erase(each->begin() + static_cast<std::ptrdiff_t>(d));
  }
}

class TurnedJoining {
 public:
  TurnedJoining(std::vector<Group>& groups, const LoweringContext& context)
      : groups_(groups), context_(context), group_of_(context.users.size(), -1) {
    for (size_t i = 0; i < groups.size(); ++i)
      for (const Node* node : groups[i].nodes) group_of_[static_cast<size_t>(node->index)] = static_cast<int>(i);
  }

  void run() {
    for (Group& group : groups_)
      if (group.kind == GroupKind::Pointwise && !group.folds_rows) join(group);
    std::erase_if(groups_, [](const Group& group) { return group.nodes.empty(); });
  }

 private:
  bool is_turned(const Node& node, const Group& group) const {
    int own = node.kind == NodeKind::Op ? group_of_[static_cast<size_t>(node.index)] : -1;
    return own >= 0 && groups_[static_cast<size_t>(own)].kind == GroupKind::Single && turned_operand(node) &&
           same(node.outs[0].spec.sizes, group.sizes) && !context_.is_seen_outside(node, group);
  }

  void join(Group& group) {
    std::vector<const Node*> found;
    for (const Node* node : group.nodes) {
      for (const Operand& operand : node->operands) {
        for_each_value(operand, [&](const ValueRef& value) {
          bool is_known = std::ranges::find(found, value.node) != found.end();
          if (!is_known && is_turned(*value.node, group)) found.push_back(value.node);
        });
      }
    }
    if (found.empty()) return;
    Group alone = group;
    for (const Node* node : found)
      group.parts.push_back(
          std::exchange(groups_[static_cast<size_t>(group_of_[static_cast<size_t>(node->index)])], {}));
    group.parts.push_back(std::move(alone));
    group.turned = std::move(found);
  }

  std::vector<Group>& groups_;
  const LoweringContext& context_;
  std::vector<int> group_of_;
};

}  // namespace

std::optional<ValueRef> turned_operand(const Node& node) {
  if (node.kind != NodeKind::Op || node.op->kernel != roll_kernel) return std::nullopt;
  const auto* operand = std::get_if<ValueRef>(&node.operands[0]);
  const auto* dims = std::get_if<DimVec>(&node.operands[2]);
  if (operand == nullptr || dims == nullptr || !node.outs[0].spec.is_contiguous()) return std::nullopt;
  int rank = node.outs[0].spec.rank();
  if (rank == 0 || rank > kMaxLoopRank || node.outs[0].spec.numel().value() == 0) return std::nullopt;
  bool is_along_dims = !dims->empty() || rank == 1;
  return is_along_dims ? std::optional(*operand) : std::nullopt;
}

Turn turn_of(const Node& node, const TensorSpec& operand) {
  Turn turn;
  for (int d = 0; d < operand.rank(); ++d) {
    turn.sizes.push_back(operand.sizes[d].value());
    turn.strides.push_back(operand.strides[d].value());
  }
  turn.shifts.resize(turn.sizes.size());
  const DimVec &shifts = std::get<DimVec>(node.operands[1]), &dims = std::get<DimVec>(node.operands[2]);
  for (int i = 0; i < shifts.size(); ++i) {
    int64_t dim = is_over_all(node) ? 0 : dims[i].value();
    auto d = static_cast<size_t>(dim < 0 ? dim + operand.rank() : dim);
    int64_t shift = (turn.shifts[d] + shifts[i].value() % turn.sizes[d]) % turn.sizes[d];
    turn.shifts[d] = shift < 0 ? shift + turn.sizes[d] : shift;
  }
  merge_dims(turn);
  return turn;
}

void join_turned(std::vector<Group>& groups, const LoweringContext& context) {
  if (context.sized == nullptr) TurnedJoining(groups, context).run();
}

}  // namespace md
