#include "graph/views.h"

#include <algorithm>

#include "graph/symbols.h"
#include "tensor/ops/kernels.h"

namespace md {

std::vector<OutSpec> view_outs(const Node& node) {
  std::vector<Arg> args;
  for (const Operand& operand : node.operands) {
    args.push_back(to_arg(operand, [](ValueRef value) -> Arg {
      const ValueInfo& info = value.node->outs[static_cast<size_t>(value.out)];
      if (info.is_scalar) {
        raise(ErrorKind::Internal, "a view depends on the run-time scalar %", value.node->name);
      }
      return Tensor::fake(info.spec);
    }));
  }
  std::vector<OutSpec> outs;
  node.op->shape_rule(OpCall{*node.op, args}, outs);
  return outs;
}

bool is_strided_view(const Node& node) {
  if (!is_op(node, OpKind::View)) return false;
  DecidesByHint decides;  // as the capture of the view did, whose guards hold
  std::vector<OutSpec> outs = view_outs(node);
  return std::none_of(outs.begin(), outs.end(), [](const OutSpec& out) { return out.copies; });
}

ValueRef viewed_by(ValueRef value) {
  bool is_view = value.node->kind == NodeKind::Op && is_strided_view(*value.node);
  return is_view ? std::get<ValueRef>(value.node->operands[0]) : ValueRef{};
}

bool same_view(const StridedView& a, const StridedView& b) {
  return same(a.sizes, b.sizes) && same(a.strides, b.strides) && same(a.offset, b.offset);
}

TensorSpec layout_of(const StridedView& view) {
  TensorSpec spec;
  spec.sizes = view.sizes;
  spec.strides = view.strides;
  return spec;
}

bool writes_view(const OpRow& op) { return op.kernel == scatter_view_kernel; }

StridedView written_view(const Node& write) {
  return {std::get<DimVec>(write.operands[2]), std::get<DimVec>(write.operands[3]),
          std::get<Scalar>(write.operands[4]).as_dim()};
}

}  // namespace md
