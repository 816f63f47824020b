// Arithmetic on Python ints read from tensors. Python's ints are unbounded: overflow is an error.
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"

namespace md {
namespace {

bool is_int64_scalar(const TensorSpec& spec) { return spec.rank() == 0 && spec.dtype == DType::int64; }

int64_t other_number(const OpCall& call) {
  return arg_is<Tensor>(call, 1) ? *tensor_arg(call, 1).data<int64_t>() : int_arg(call, 1);
}

template <typename Calculate>
void calculate(const OpCall& call, std::span<Tensor> outs, Calculate overflows) {
  if (overflows(*tensor_arg(call, 0).data<int64_t>(), other_number(call), outs[0].data<int64_t>()))
    raise_op(ErrorKind::Runtime, call.row.name, "the result needs more than 64 bits");
}

}  // namespace

void integer_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& spec = tensor_arg(call, 0).spec();
  bool fits = is_int64_scalar(spec) && (!arg_is<Tensor>(call, 1) || is_int64_scalar(tensor_arg(call, 1).spec()));
  if (!fits) raise_op(ErrorKind::Type, call.row.name, "takes whole numbers, that is int64 tensors of no dims");
  outs.push_back({TensorSpec::contiguous(DType::int64, {})});
}

void checked_add_kernel(const OpCall& call, std::span<Tensor> outs) {
  calculate(call, outs, [](int64_t a, int64_t b, int64_t* sum) { return __builtin_add_overflow(a, b, sum); });
}

void checked_sub_kernel(const OpCall& call, std::span<Tensor> outs) {
  calculate(call, outs, [](int64_t a, int64_t b, int64_t* rest) { return __builtin_sub_overflow(a, b, rest); });
}

void checked_mul_kernel(const OpCall& call, std::span<Tensor> outs) {
  calculate(call, outs, [](int64_t a, int64_t b, int64_t* product) { return __builtin_mul_overflow(a, b, product); });
}

}  // namespace md
