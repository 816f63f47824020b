// The kernel of every pointwise op, and the fast path of eager dispatch.
#include <cstring>
#include <limits>

#include "tensor/fill.h"
#include "tensor/kernels/pointwise_call.h"
#include "tensor/kernels/pointwise_fast_path.h"
#include "tensor/memory_overlap.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/checked_numbers.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/pointwise_form.h"
#include "tensor/parallel/float_flags.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/element_walk.h"
#include "tensor/simd/known_result.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

constexpr int64_t kFastLimit = 1 << 15;  // elements: smaller calls run on one thread

// Whether a tensor of one element is passed to the loop as a number.
bool becomes_number(const PointwiseCall& call, int operand, const Tensor& tensor) {
  if (tensor->numel() != 1) return false;
  return pointwise_loop(call.row_index, call.dtype, call.mask | (1u << operand)) != nullptr;
}

void add_operand(PointwiseCall& call, const Arg& arg, bool may_be_number) {
  int operand = call.operand_count++;
  void* number = call.numbers[operand];
  DType number_dtype = scalar_operand_dtype(call.dtype);
  if (const Scalar* scalar = std::get_if<Scalar>(&arg)) {
    store_scalar(number_dtype, *scalar, number);
  } else {
    const Tensor& tensor = std::get<Tensor>(arg);
    if (!may_be_number || !becomes_number(call, operand, tensor)) {
      call.tensors[operand] = &tensor;
      return;
    }
    loops().convert[static_cast<int>(call.dtype)][static_cast<int>(number_dtype)](tensor->data(), number, 1);
  }
  call.mask |= 1u << operand;
}

// Returns whether an integer is divided by -1.
bool check_divisors(const PointwiseCall& call) {
  if (!call.row.may_fail || is_inexact(call.dtype)) return false;
  if (call.tensors[1] == nullptr) return check_divisor(call.op, call.dtype, call.numbers[1], 1);
  const Tensor& divisor = *call.tensors[1];
  std::span<const int64_t> sizes(divisor->sizes(), static_cast<size_t>(divisor->rank()));
  ElementWalk walk(sizes);
  walk.add(divisor);
  walk.finish();
  alignas(64) char buffer[ElementWalk::kTileBytes];
  bool has_minus_one = false;
  for (int64_t at = 0; at < walk.count();) {
    int64_t n = walk.tile_length(at, walk.count());
    has_minus_one |= check_divisor(call.op, call.dtype, walk.read(0, divisor->data(), at, n, buffer), n);
    at += n;
  }
  return has_minus_one;
}

// Whether one of the n quotients wraps around: of the smallest number and -1. A step of 0 repeats a number.
template <typename T>
bool has_overflow(const void* dividends, int dividend_step, const void* divisors, int divisor_step, int64_t n) {
  const T *a = static_cast<const T*>(dividends), *b = static_cast<const T*>(divisors);
  bool found = false;
  for (int64_t i = 0; i < n; ++i)
    found |= a[i * dividend_step] == std::numeric_limits<T>::min() && b[i * divisor_step] == T(-1);
  return found;
}

using OverflowTest = bool (*)(const void*, int, const void*, int, int64_t);
OverflowTest overflow_test(DType dtype) {
  switch (item_size(dtype)) {
    case 1:
      return has_overflow<int8_t>;
    case 2:
      return has_overflow<int16_t>;
    case 4:
      return has_overflow<int32_t>;
    default:
      return has_overflow<int64_t>;
  }
}

// Libraries whose programs see the exceptions of the arithmetic count that quotient among them.
void flag_overflow(const PointwiseCall& call, const Tensor& out) {
  ElementWalk walk({out->sizes(), static_cast<size_t>(out->rank())});
  int operands[2] = {-1, -1}, count = 0;
  for (int i : {0, 1}) {
    if (call.tensors[i] == nullptr) continue;
    walk.add(*call.tensors[i]);
    operands[i] = count++;
  }
  walk.finish();
  alignas(64) char buffers[2][ElementWalk::kTileBytes];
  OverflowTest test = overflow_test(call.dtype);
  auto read = [&](int i, int64_t at, int64_t n) -> const void* {
    if (operands[i] < 0) return call.numbers[i];
    return walk.read(operands[i], (*call.tensors[i])->data(), at, n, buffers[i]);
  };
  for (int64_t at = 0; at < walk.count();) {
    int64_t n = walk.tile_length(at, walk.count());
    if (test(read(0, at, n), operands[0] >= 0, read(1, at, n), operands[1] >= 0, n))
      return raise_float_flags_here(kOverflowFlag);
    at += n;
  }
}

// The result does not depend on the operands.
bool run_known(const PointwiseCall& call, const Tensor& out) {
  Truth known = known_result(call.row_index, call.dtype);
  if (known == Truth::Depends || !is_dense(out.spec())) return false;
  parallel_for(out->numel(), 0.05, [&](int64_t begin, int64_t end) {
    std::memset(out.data<char>() + begin, known == Truth::True ? 1 : 0, static_cast<size_t>(end - begin));
  });
  return true;
}

// All operands are dense in the order of out: one loop call per thread.
bool run_dense(const PointwiseCall& call, PointwiseLoop loop, const Tensor& out) {
  const void* src[3];
  int64_t steps[3];
  int64_t steps_moved = 0;
  bool same_order = true;
  for (int i = 0; i < call.operand_count; ++i) {
    const Tensor* tensor = call.tensors[i];
    src[i] = tensor == nullptr ? call.numbers[i] : (*tensor)->data();
    steps[i] = tensor == nullptr ? 0 : static_cast<int64_t>(item_size(operand_dtype(call, i)));
    steps_moved += steps[i];
    if (tensor != nullptr) {
      same_order = same_order && (*tensor)->is_contiguous() && (*tensor)->numel() == out->numel();
    }
  }
  if (!same_order || !out->is_contiguous()) return false;
  char* dst = static_cast<char*>(out->data());
  int64_t dst_step = static_cast<int64_t>(item_size(out->dtype()));
  double moved = static_cast<double>(steps_moved + dst_step);
  parallel_for(out->numel(), cost_per_item(call, moved), [&](int64_t begin, int64_t end) {
    const void* at[3];
    for (int i = 0; i < call.operand_count; ++i) at[i] = static_cast<const char*>(src[i]) + begin * steps[i];
    loop(at, dst + begin * dst_step, end - begin, call.params);
  });
  return true;
}

DType loop_dtype(const OpCall& call, const PointwiseForm& form, const PointwiseRow& row, const Tensor& out) {
  for (int i = row.result == PointwiseResult::Select ? 1 : 0; i < form.operand_count; ++i) {
    if (arg_is<Tensor>(call, form.operands[i])) return tensor_arg(call, form.operands[i])->dtype();
  }
  return out->dtype();
}

// No loop takes numbers for all operands: the first number becomes a tensor again.
Tensor filled(DType dtype, const Arg& arg) {
  if (const Tensor* tensor = std::get_if<Tensor>(&arg)) return *tensor;
  return Tensor::scalar(dtype, std::get<Scalar>(arg));
}

}  // namespace

// Numbers known only at run time are not checked by a shape rule.
static void check_power(const OpCall& call) {
  if (call.row.pointwise != static_cast<int>(Pointwise::pow)) return;
  const Scalar* exponent = std::get_if<Scalar>(&call.args[1]);
  if (exponent == nullptr || exponent->as_int() >= 0 || !arg_is<Tensor>(call, 0)) return;
  DType dtype = tensor_arg(call, 0)->dtype();
  if (!is_inexact(dtype)) {
    raise_op(ErrorKind::Runtime, call.row.name, "Integers to negative integer powers are not allowed.");
  }
}

void pointwise_kernel(const OpCall& call, std::span<Tensor> outs) {
  check_power(call);
  const Tensor& out = outs[0];
  PointwiseForm form = pointwise_form(call.row, call.args);
  DType dtype = loop_dtype(call, form, pointwise_rows()[static_cast<size_t>(form.row)], out);
  check_numbers(call, form, dtype);
  if (out->numel() == 0) return;
  const PointwiseRow& row = pointwise_rows()[static_cast<size_t>(form.row)];
  PointwiseCall ready{.op = call.row, .row = row, .row_index = form.row, .dtype = dtype};
  Tensor first;
  Arg first_arg;
  for (int i = 0; i < form.operand_count; ++i) {
    const Arg& arg = call.args[static_cast<size_t>(form.operands[i])];
    bool number = std::holds_alternative<Scalar>(arg);
    bool loop_takes_it = pointwise_loop(form.row, ready.dtype, ready.mask | (1u << i)) != nullptr;
    if (number && !loop_takes_it) {
      first_arg = filled(operand_dtype(ready, i), arg);
      add_operand(ready, first_arg, false);
    } else {
      // One operand stays a tensor if the result also has a single element.
      add_operand(ready, arg, i > 0 || out->numel() > 1);
    }
  }
  Scalar params[kMaxPointwiseParams];
  for (int i = 0; i < row.param_count; ++i) params[i] = scalar_arg(call, form.param + i);
  ready.params = params;
  if (check_divisors(ready) && row.overflows) flag_overflow(ready, out);
  PointwiseLoop loop = pointwise_loop(form.row, ready.dtype, ready.mask);
  MD_ASSERT(loop != nullptr, "[", call.row.name, "] has no loop for ", md::row(ready.dtype).name);
  if (!run_known(ready, out) && !run_dense(ready, loop, out)) run_by_tiles(ready, out);
}

namespace {

// For ops whose row never depends on argument values, or only on arguments that the fast path does not support.
PointwiseLoop fast_loop(const OpRow& op, DType dtype, unsigned mask, int arity) {
  if (op.pointwise < 0) return nullptr;
  const PointwiseRow& row = pointwise_rows()[static_cast<size_t>(op.pointwise)];
  bool may_fail = row.may_fail && !is_floating(dtype);
  bool plain =
      row.arity == arity && row.param_count == 0 && !may_fail && op.pointwise != static_cast<int>(Pointwise::pow);
  return plain ? pointwise_loop(op.pointwise, dtype, mask) : nullptr;
}

bool is_plain(const Tensor& tensor) {
  return tensor->kind() == TensorKind::Real && tensor->is_contiguous() && tensor->numel() <= kFastLimit;
}

bool same_sizes(const Tensor& a, const Tensor& b) {
  if (a->rank() != b->rank()) return false;
  for (int i = 0; i < a->rank(); ++i) {
    if (a->sizes()[i] != b->sizes()[i]) return false;
  }
  return true;
}

Tensor new_result(const OpRow& op, const Tensor& like) {
  DType dtype = pointwise_result_dtype(op.pointwise, like->dtype());
  return Tensor::empty(dtype, {like->sizes(), static_cast<size_t>(like->rank())});
}

}  // namespace

bool run_pointwise_fast(const OpRow& op, const Tensor& a, const Tensor& b, Tensor& out) {
  if (!is_plain(a) || !is_plain(b) || a->dtype() != b->dtype() || !same_sizes(a, b)) return false;
  PointwiseLoop loop = fast_loop(op, a->dtype(), 0, 2);
  if (loop == nullptr) return false;
  Tensor result = new_result(op, a);
  const void* src[] = {a->data(), b->data()};
  loop(src, result->data(), a->numel(), nullptr);
  out = std::move(result);
  return true;
}

namespace {

// The number is operand 1 (mask 2) or operand 0 (mask 1).
bool run_with_number(const OpRow& op, const Tensor& tensor, const Scalar& value, unsigned mask, Tensor& out) {
  if (!is_plain(tensor)) return false;
  PointwiseLoop loop = fast_loop(op, tensor->dtype(), mask, 2);
  if (loop == nullptr) return false;
  std::optional<DType> holds = checked_operand(op.pointwise, mask == 2 ? 1 : 0, tensor->dtype());
  if (holds && !fits(*holds, value)) return false;
  Tensor result = new_result(op, tensor);
  alignas(8) unsigned char number[16];
  store_scalar(scalar_operand_dtype(tensor->dtype()), value, number);
  const void* src[2];
  src[mask == 2 ? 0 : 1] = tensor->data();
  src[mask == 2 ? 1 : 0] = number;
  loop(src, result->data(), tensor->numel(), nullptr);
  out = std::move(result);
  return true;
}

}  // namespace

bool run_pointwise_fast(const OpRow& op, const Tensor& a, const Scalar& b, Tensor& out) {
  return run_with_number(op, a, b, 2, out);
}

bool run_pointwise_fast(const OpRow& op, const Scalar& a, const Tensor& b, Tensor& out) {
  return run_with_number(op, b, a, 1, out);
}

bool run_pointwise_fast(const OpRow& op, const Tensor& a, Tensor& out) {
  if (!is_plain(a)) return false;
  PointwiseLoop loop = fast_loop(op, a->dtype(), 0, 1);
  if (loop == nullptr) return false;
  Tensor result = new_result(op, a);
  const void* src[] = {a->data()};
  loop(src, result->data(), a->numel(), nullptr);
  out = std::move(result);
  return true;
}

}  // namespace md
