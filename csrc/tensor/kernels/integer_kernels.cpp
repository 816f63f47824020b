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

void quotient_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  integer_shape(call, outs);
  outs.back().spec.dtype = DType::float64;
}

void checked_div_kernel(const OpCall& call, std::span<Tensor> outs) {
  constexpr int64_t kExact = int64_t{1} << 53;
  int64_t a = *tensor_arg(call, 0).data<int64_t>(), b = other_number(call);
  bool exact = a >= -kExact && a <= kExact && b >= -kExact && b <= kExact;
  if (b == 0 || !exact) raise_op(ErrorKind::Runtime, call.row.name, "the quotient is not that of two floats");
  *outs[0].data<double>() = static_cast<double>(a) / static_cast<double>(b);
}

void truncated_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& spec = tensor_arg(call, 0).spec();
  if (spec.rank() != 0 || spec.dtype != DType::float64)
    raise_op(ErrorKind::Type, call.row.name, "takes a Python float, that is a float64 tensor of no dims");
  outs.push_back({TensorSpec::contiguous(DType::int64, {})});
}

// Python raises where there is no integer, and has wider ones.
void checked_int_kernel(const OpCall& call, std::span<Tensor> outs) {
  double number = *tensor_arg(call, 0).data<double>();
  if (!(number >= -0x1p63 && number < 0x1p63))
    raise_op(ErrorKind::Runtime, call.row.name, "the result needs more than 64 bits");
  *outs[0].data<int64_t>() = static_cast<int64_t>(number);
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
