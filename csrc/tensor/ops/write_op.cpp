#include "tensor/ops/write_op.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/memory_overlap.h"
#include "tensor/ops/fake_views.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/tensor_args.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

// Elements that share memory may all be assigned the same value.
bool writes_one_value(const OpRow& row) {
  static const OpRow *const fill = find_op("fill"), *const zero = find_op("zero");
  return &row == fill || &row == zero;
}

// A kernel may overwrite its operands only if it reads each element before writing there: of a write that is no copy,
// argument 0 alone.
bool may_write_directly(const OpRow& row, std::span<const Arg> args, const Tensor& target) {
  if (row.kernel == nullptr || row.kind == OpKind::View) return false;
  bool elementwise = row.works_by_element();
  if (!elementwise && row.kind != OpKind::Write) return false;
  bool safe = true;
  auto check = [&](bool may_be_target) {
    return [&, may_be_target](const Tensor& tensor) {
      if (tensor->kind() != TensorKind::Real) return;
      safe = safe && ((may_be_target && is_same_view(tensor, target)) || !ranges_meet(tensor, target));
    };
  };
  for_each_tensor(args.first(1), check(true));
  for_each_tensor(args.subspan(1), check(elementwise));
  return safe;
}

}  // namespace

std::string_view scalar_type_name(DType dtype) {
  std::string_view name = row(dtype).names.torch;
  return name.substr(0, name.find("Tensor"));
}

bool can_write(DType from, DType to) { return row(from).category <= row(to).category; }

void require_elements_apart(const OpRow& op, const Tensor& target) {
  if (!has_expanded_dim(target.spec())) return;
  raise_op(ErrorKind::Runtime, op.name,
           "unsupported operation: more than one element of the written-to tensor refers to a single memory "
           "location. Please clone() the tensor before performing the operation.");
}

void check_writable(const OpRow& op, std::span<const Arg> args, const Tensor& target) {
  if (target->kind() != TensorKind::Real) {
    if (FakeViews* views = FakeViews::current()) views->written(target);
    return;
  }
  if (target->storage()->read_only()) {
    raise_op(ErrorKind::Runtime, op.name,
             "the memory of the written-to tensor is read-only: it belongs to an object "
             "that does not allow writes. Please clone() the tensor before performing the operation.");
  }
  if (!writes_one_value(op)) require_elements_apart(op, target);
  for_each_tensor(args, [&](const Tensor& tensor) {
    if (tensor->kind() != TensorKind::Real || !overlaps_in_part(target, tensor)) return;
    raise_op(ErrorKind::Runtime, op.name,
             "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
             "memory location. Please clone() the tensor before performing the operation.");
  });
}

void check_write(const OpRow& op, const TensorSpec& result, const TensorSpec& target) {
  bool fits = result.rank() == target.rank();
  for (int i = 0; fits && i < result.rank(); ++i) fits = known_equal(result.sizes[i], target.sizes[i]);
  if (!fits) {
    raise_op(ErrorKind::Runtime, op.name, "output with shape ", list_str(target.sizes.span()),
             " doesn't match the broadcast shape ", list_str(result.sizes.span()));
  }
  if (!can_write(result.dtype, target.dtype)) {
    raise_op(ErrorKind::Runtime, op.name, "result type ", scalar_type_name(result.dtype),
             " can't be cast to the desired output type ", scalar_type_name(target.dtype));
  }
}

void write_op(const OpRow& op, std::span<const Arg> args, const Tensor& target) {
  OpCall call{op, args};
  std::vector<OutSpec> specs;
  infer_results(call, specs);
  MD_ASSERT(specs.size() == 1, "[", op.name, "] has several results");
  check_write(op, specs[0].spec, target.spec());
  if (specs[0].spec.dtype == target->dtype() && may_write_directly(op, args, target)) {
    Tensor out = target;
    op.kernel(call, {&out, 1});
  } else {
    copy_elements(run_op(op, args).at(0), target);
  }
  target->storage()->bump_version();
}

}  // namespace md
