// Shape rules of pointwise functions.
#include <algorithm>
#include <array>

#include "tensor/ops/call_args.h"
#include "tensor/ops/pointwise_form.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/simd/pointwise.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

struct Operands {
  std::array<const Tensor*, 3> tensors{};
  int count = 0;
  DType dtype = DType::bool_;
};

// Rows for which torch rejects bools with a message of their own.
struct BoolRefusal {
  Pointwise row;
  const char* words;
};
constexpr BoolRefusal kBoolRefusals[] = {
    {Pointwise::neg,
     "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
     "`~` or `logical_not()` operator instead."},
    {Pointwise::sub,
     "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
     "operator instead."},
    {Pointwise::relu, "Boolean inputs not supported for relu"},
};

[[noreturn]] void raise_unsupported(const OpCall& call, DType dtype) {
  for (const BoolRefusal& refusal : kBoolRefusals) {
    if (dtype == DType::bool_ && static_cast<int>(refusal.row) == call.row.pointwise)
      raise_op(ErrorKind::Runtime, call.row.name, refusal.words);
  }
  raise_op(ErrorKind::NotImplemented, call.row.name, "not implemented for '", row(dtype).name, "'");
}

// Only numbers (where(cond, 1.0, 2)): the default dtype, int64 or bool, whichever is widest.
DType number_dtype(const OpCall& call, const PointwiseForm& form, int first) {
  DType result = DType::bool_;
  for (int i = first; i < form.operand_count; ++i) {
    switch (scalar_arg(call, form.operands[i]).category()) {
      case DTypeCategory::Floating:
      case DTypeCategory::Complex:
        return default_dtype();
      case DTypeCategory::Integer:
        result = DType::int64;
        break;
      case DTypeCategory::Bool:
        break;
    }
  }
  return call.row.promotion == Promotion::TrueDivide ? default_dtype() : result;
}

Operands read_operands(const OpCall& call, const PointwiseForm& form) {
  Operands operands;
  bool select = pointwise_rows()[static_cast<size_t>(form.row)].result == PointwiseResult::Select;
  bool has_dtype = false;
  for (int i = 0; i < form.operand_count; ++i) {
    if (!arg_is<Tensor>(call, form.operands[i])) continue;
    const Tensor& tensor = tensor_arg(call, form.operands[i]);
    operands.tensors[static_cast<size_t>(operands.count++)] = &tensor;
    DType dtype = tensor->dtype();
    if (select && i == 0) {
      if (dtype != DType::bool_) {
        raise_op(ErrorKind::Runtime, call.row.name,
                 "expected condition to be a boolean tensor, but got a tensor with dtype ", row(dtype).name);
      }
    } else if (!has_dtype) {
      operands.dtype = dtype;
      has_dtype = true;
    } else if (dtype != operands.dtype) {
      raise_op(ErrorKind::Runtime, call.row.name, "operands must have one dtype, but got ", row(operands.dtype).name,
               " and ", row(dtype).name);
    }
  }
  if (!has_dtype) operands.dtype = number_dtype(call, form, select ? 1 : 0);
  return operands;
}

// As in torch: the result preserves the memory order of the operands' dims.
DimVec strides_like(const DimVec& sizes, std::span<const Tensor* const> tensors) {
  int rank = sizes.size();
  std::array<int, 64> order{};  // innermost first
  for (int i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = rank - 1 - i;
  // Whether dim a must be outside of dim b: 1, inside: -1, undetermined: 0.
  auto compare = [&](int a, int b) {
    for (const Tensor* tensor : tensors) {
      const TensorSpec& spec = tensor->spec();
      int shift = rank - spec.rank();
      if (a < shift || b < shift) continue;
      Dim stride_a =
          known_equal_if_hinted(spec.sizes[a - shift], sizes[a]) ? magnitude(spec.strides[a - shift]) : Dim(0);
      Dim stride_b =
          known_equal_if_hinted(spec.sizes[b - shift], sizes[b]) ? magnitude(spec.strides[b - shift]) : Dim(0);
      if (same(stride_a, Dim(0)) || same(stride_b, Dim(0))) continue;
      if (known_less(stride_a, stride_b)) return -1;
      if (known_less(stride_b, stride_a)) return 1;
      if (known_less(sizes[b], sizes[a])) return 1;
    }
    return 0;
  };
  for (int i = 1; i < rank; ++i) {
    int inner = i;
    for (int j = i - 1; j >= 0; --j) {
      int outcome = compare(order[static_cast<size_t>(j)], order[static_cast<size_t>(inner)]);
      if (outcome > 0) {
        std::swap(order[static_cast<size_t>(j)], order[static_cast<size_t>(inner)]);
        inner = j;
      } else if (outcome < 0) {
        break;
      }
    }
  }
  DimVec strides;
  strides.resize(rank);
  Dim step = 1;
  for (int i = 0; i < rank; ++i) {
    int dim = order[static_cast<size_t>(i)];
    strides[dim] = step;
    if (!known_equal_if_hinted(sizes[dim], 0)) step = step * sizes[dim];
  }
  return strides;
}

void check_power(const OpCall& call, const PointwiseForm& form, DType dtype) {
  if (form.row != static_cast<int>(Pointwise::pow) || is_inexact(dtype)) return;
  const Scalar* exponent = std::get_if<Scalar>(&call.args[static_cast<size_t>(form.operands[1])]);
  if (exponent != nullptr && exponent->as_int() < 0) {
    raise_op(ErrorKind::Runtime, call.row.name, "Integers to negative integer powers are not allowed.");
  }
}

}  // namespace

DimVec pointwise_strides(const DimVec& sizes, std::span<const Tensor* const> tensors) {
  bool plain = sizes.size() > 60;
  if (!plain) {
    plain = std::all_of(tensors.begin(), tensors.end(),
                        [](const Tensor* tensor) { return tensor->impl()->is_contiguous(); });
  }
  return plain ? contiguous_strides(sizes.span()) : strides_like(sizes, tensors);
}

void round_decimals_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  if (!is_floating(self.dtype)) raise_unsupported(call, self.dtype);
  outs.push_back({TensorSpec::contiguous(self.dtype, self.sizes), 0});
}

void special_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  if (!is_floating(self.dtype)) raise_unsupported(call, self.dtype);
  const Tensor* tensors[] = {&tensor_arg(call, 0)};
  OutSpec out;
  out.spec.dtype = self.dtype;
  out.spec.sizes = self.sizes;
  out.spec.strides = pointwise_strides(self.sizes, tensors);
  outs.push_back(std::move(out));
}

void pointwise_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  PointwiseForm form = pointwise_form(call.row, call.args);
  Operands operands = read_operands(call, form);
  std::span<const Tensor* const> tensors(operands.tensors.data(), static_cast<size_t>(operands.count));
  OutSpec out;
  out.spec.dtype = pointwise_result_dtype(form.row, operands.dtype);
  out.spec.sizes = operands.count == 1 ? tensors[0]->spec().sizes : broadcast_sizes(call, tensors);
  if (!pointwise_supports(form.row, operands.dtype)) raise_unsupported(call, operands.dtype);
  check_power(call, form, operands.dtype);
  out.spec.strides = pointwise_strides(out.spec.sizes, tensors);
  outs.push_back(std::move(out));
}

}  // namespace md
