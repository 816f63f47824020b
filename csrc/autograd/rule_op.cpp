#include "autograd/rule_op.h"

#include "autograd/record.h"
#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/memory_overlap.h"
#include "tensor/ops/write_op.h"

namespace md {
namespace {

const Tensor* tensor_of(const Arg& arg) {
  const auto* tensor = std::get_if<Tensor>(&arg);
  return tensor != nullptr && tensor->defined() ? tensor : nullptr;
}

// Complex before real, wide before narrow.
bool is_wider(DType a, DType b) {
  if (is_complex(a) != is_complex(b)) return is_complex(a);
  return item_size(a) > item_size(b);
}

// The dtype that operands of different dtypes are cast to; none if they agree.
std::optional<DType> common_float(const OpRow& row, std::span<const Arg> args) {
  std::optional<DType> widest;
  bool differs = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const Tensor* tensor = row.schema.params[i].promotes ? tensor_of(args[i]) : nullptr;
    if (tensor == nullptr || !is_inexact((*tensor)->dtype())) continue;
    differs = differs || (widest && *widest != (*tensor)->dtype());
    if (!widest || is_wider((*tensor)->dtype(), *widest)) widest = (*tensor)->dtype();
  }
  return differs ? widest : std::nullopt;
}

}  // namespace

std::vector<Tensor> run_with_history(const OpRow& row, std::span<Arg> args) {
  if (std::optional<DType> common = common_float(row, args)) {
    for (size_t i = 0; i < args.size(); ++i) {
      const Tensor* tensor = row.schema.params[i].promotes ? tensor_of(args[i]) : nullptr;
      if (tensor != nullptr && (*tensor)->dtype() != *common && (*tensor)->dtype() != DType::bool_)
        args[i] = rule_ops::cast(*tensor, *common);
    }
  }
  std::vector<Tensor> results = run_op(row, args);
  note_history(row, args, results);
  return results;
}

bool add_in_place(const Tensor& sum, const Tensor& added) {
  bool fits = sum->kind() == TensorKind::Real && added->kind() == TensorKind::Real && sum->dtype() == added->dtype() &&
              same(sum.spec().sizes, added.spec().sizes) && !has_expanded_dim(sum.spec());
  if (!fits) return false;
  static const OpRow* const row = find_op("add");
  Arg args[] = {sum, added, Scalar(int64_t{1})};
  write_op(*row, args, sum);
  return true;
}

std::vector<Tensor> RuleOp::run(std::vector<Arg> args) const {
  const OpRow* row = row_.load(std::memory_order_relaxed);
  if (row == nullptr) {
    row = find_op(name_);
    MD_ASSERT(row != nullptr, name_);
    row_.store(row, std::memory_order_relaxed);
  }
  fill_defaults(*row, args);
  return run_with_history(*row, args);
}

}  // namespace md
