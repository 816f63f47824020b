#include "frontends/in_place.h"

#include "autograd/record.h"
#include "base/error.h"
#include "frontends/eager.h"
#include "tensor/memory_overlap.h"
#include "tensor/ops/tensor_args.h"
#include "tensor/ops/write_op.h"
#include "tensor/simd/copy.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

void require_values(const OpRow& row, std::span<const Arg> args) {
  for (const Arg& arg : args) {
    const Tensor* tensor = std::get_if<Tensor>(&arg);
    if (tensor == nullptr || !tensor->defined() || (*tensor)->kind() != TensorKind::Recording) continue;
    raise(ErrorKind::NotImplemented, python_name(row), "_: writing into a tensor is not recorded in a graph here");
  }
}

bool has_fake(std::span<const Arg> args) {
  for (const Arg& arg : args) {
    const Tensor* tensor = std::get_if<Tensor>(&arg);
    if (tensor != nullptr && tensor->defined() && (*tensor)->kind() == TensorKind::Fake) return true;
  }
  return false;
}

bool same_sizes(const TensorSpec& a, const TensorSpec& b) { return same(a.sizes, b.sizes); }

// cumsum_ and cumprod_: an explicit dtype must be the tensor's.
void check_asked_dtype(const OpRow& row, std::span<const Arg> args, DType target) {
  for (size_t i = 0; i < args.size(); ++i) {
    const DType* asked = std::get_if<DType>(&args[i]);
    if (row.schema.params[i].type != ParamType::Dtype || asked == nullptr || *asked == target) continue;
    raise_op(ErrorKind::Runtime, in_place_name(row), "Bad in-place call: input tensor dtype ", md::row(target).name,
             " and output tensor dtype ", md::row(*asked).name, " should match");
  }
}

// Computes a pointwise op directly into its destination, without a temporary. Returns false,
// without side effects, if impossible.
bool wrote_directly(const OpRow& row, std::span<Arg> args, std::span<const Tensor> targets) {
  if (row.pointwise < 0 || targets.size() != 1 || targets[0]->kind() != TensorKind::Real || has_fake(args))
    return false;
  if (row.promotion != Promotion::None) cast_args(row, args);
  std::vector<OutSpec> specs;
  infer_results(OpCall{row, args}, specs);
  if (!same_sizes(specs.at(0).spec, targets[0].spec())) return false;
  check_out_dtype(row, specs[0].spec.dtype, targets[0]->dtype());
  write_op(row, args, targets[0]);
  return true;
}

}  // namespace

void check_out_dtype(const OpRow& row, DType result, DType target) {
  if (row.pointwise >= 0) {
    if (can_write(result, target)) return;
    raise_op(ErrorKind::Runtime, row.name, "result type ", scalar_type_name(result),
             " can't be cast to the desired output type ", scalar_type_name(target));
  }
  if (result == target) return;
  raise_op(ErrorKind::Runtime, row.name, "Expected out tensor to have dtype ", md::row(result).name, ", but got ",
           md::row(target).name, " instead");
}

std::string in_place_name(const OpRow& row) { return std::string(python_name(row)) + "_"; }

void apply_in_place(const OpRow& row, std::span<Arg> args) {
  require_values(row, args);
  Tensor target = std::get<Tensor>(args[0]);
  bool has_history = writes_history(row, args, target);
  check_writable(row, args, target);
  check_asked_dtype(row, args, target->dtype());
  bool requires_grad = target.requires_grad() || any_requires_grad(args.subspan(1));
  if (row.promotion != Promotion::None) cast_args(row, args);
  if (has_fake(args)) {
    check_write(row, run_op(row, args).at(0).spec(), target.spec());
  } else if (has_history) {
    WriteHistory history(row, args, target);
    write_op(row, args, target);
    history.finish();
  } else {
    write_op(row, args, target);
  }
  if (target->kind() == TensorKind::Real) return;
  if (!target.requires_grad() && result_requires_grad(row, requires_grad, target->dtype())) {
    target.set_requires_grad(true);
  }
}

namespace {

// zeros(2, out=x) uses the dtype of x unless one is given.
void make_as_target(const OpRow& row, std::span<Arg> args, DType target) {
  int param = row.schema.find("dtype");
  if (row.kind != OpKind::Creation || param < 0) return;
  Arg& dtype = args[static_cast<size_t>(param)];
  if (is_none(dtype)) dtype = target;
}

// Uses the target's own storage if it is large enough, so that its views see the result.
Tensor resized(const Tensor& target, const DimVec& sizes) {
  TensorSpec spec = TensorSpec::contiguous(target->dtype(), sizes);
  size_t end = static_cast<size_t>(target->offset() + spec.numel().value()) * item_size(spec.dtype);
  return end <= target->storage()->nbytes() ? Tensor::view(target, spec, target->offset()) : Tensor::empty(spec);
}

}  // namespace

std::vector<Tensor> apply_out(const OpRow& row, std::span<Arg> args, std::span<const Tensor> targets,
                              ResizeWarning warn) {
  require_values(row, args);
  if (targets.size() == 1) make_as_target(row, args, targets[0]->dtype());
  std::vector<Tensor> written(targets.begin(), targets.end());
  bool requires_grad = any_requires_grad(args);
  for (const Tensor& target : targets) {
    requires_grad = requires_grad || target.requires_grad();
    check_writable(row, args, target);
  }
  if (requires_grad && tensor_modes().grad_enabled) {
    raise(ErrorKind::Runtime, python_name(row),
          "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
          "requires grad.");
  }
  if (wrote_directly(row, args, targets)) return written;
  std::vector<Tensor> results = apply_as_given(row, args);
  if (results.size() != targets.size()) {
    raise(ErrorKind::Type, python_name(row), "(): argument 'out' must have ", results.size(), " tensor(s), got ",
          targets.size());
  }
  for (size_t i = 0; i < results.size(); ++i) check_out_dtype(row, results[i]->dtype(), targets[i]->dtype());
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& result = results[i];
    if (result->kind() != TensorKind::Real || targets[i]->kind() != TensorKind::Real) continue;
    if (!same_sizes(result.spec(), targets[i].spec())) {
      if (targets[i]->numel() != 0) warn(targets[i].spec(), result.spec());
      written[i] = resized(targets[i], result.spec().sizes);
    }
    copy_elements(result, written[i]);
    written[i]->storage()->bump_version();
  }
  return written;
}

}  // namespace md
