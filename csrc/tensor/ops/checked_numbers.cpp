#include "tensor/ops/checked_numbers.h"

#include <array>

#include "base/error.h"
#include "tensor/fill.h"
#include "tensor/ops/call_args.h"
#include "tensor/simd/loop_table.h"
#include "tensor/simd/pointwise.h"

namespace md {
namespace {

// How numbers are checked for floating dtypes; integer dtypes must always hold them.
enum class Floats : uint8_t {
  Own,      // the dtype must hold it
  Compute,  // the dtype in which the loop computes must hold it
  Single,   // float32 must hold it, for float32 itself; for the half types it becomes infinite
  Halves,   // the half types must hold it, other floats accept any
};

// How the row's parameter is checked.
enum class Parameter : uint8_t {
  Any,        // not at all
  Own,        // the dtype must hold it
  OwnOfWide,  // likewise, but the half types accept any
  Compute,    // the dtype in which the loop computes must hold it
};

struct CheckedRow {
  uint8_t operands = 0;  // bit i: operand i
  Parameter param = Parameter::Any;
  Floats floats = Floats::Own;
};

constexpr std::array<CheckedRow, static_cast<size_t>(kPointwiseCount)> make_rows() {
  std::array<CheckedRow, static_cast<size_t>(kPointwiseCount)> rows{};
  auto at = [&](Pointwise row) -> CheckedRow& { return rows[static_cast<size_t>(row)]; };
  at(Pointwise::clamp) = {.operands = 6};
  // With a number they are clamp_min and clamp_max, and clamp with one bound.
  at(Pointwise::maximum) = at(Pointwise::minimum) = {.operands = 2};
  at(Pointwise::where) = {.operands = 6, .floats = Floats::Single};
  at(Pointwise::lerp) = {.operands = 4, .floats = Floats::Compute};
  at(Pointwise::pow) = {.operands = 2, .floats = Floats::Halves};
  at(Pointwise::add) = at(Pointwise::sub) = {.param = Parameter::Own};
  at(Pointwise::add_scaled) = at(Pointwise::sub_scaled) = {.param = Parameter::Own};
  at(Pointwise::threshold) = {.operands = 2, .param = Parameter::OwnOfWide};
  for (Pointwise row : {Pointwise::addcmul, Pointwise::addcmul_scaled, Pointwise::addcdiv, Pointwise::addcdiv_scaled,
                        Pointwise::leaky_relu, Pointwise::elu, Pointwise::celu})
    at(row) = {.param = Parameter::Compute};
  return rows;
}
constexpr auto kRows = make_rows();

}  // namespace

std::optional<DType> checked_operand(int row, int operand, DType dtype) {
  const CheckedRow& checked = kRows[static_cast<size_t>(row)];
  if (!(checked.operands >> operand & 1)) return std::nullopt;
  if (!is_floating(dtype)) return dtype;
  switch (checked.floats) {
    case Floats::Own:
      return dtype;
    case Floats::Compute:
      return scalar_operand_dtype(dtype);
    case Floats::Single:
      return is_half(dtype) ? std::nullopt : std::optional(dtype);
    case Floats::Halves:
      break;
  }
  return is_half(dtype) ? std::optional(dtype) : std::nullopt;
}

std::optional<DType> checked_param(int row, DType dtype) {
  switch (kRows[static_cast<size_t>(row)].param) {
    case Parameter::Any:
      return std::nullopt;
    case Parameter::Own:
      return dtype;
    case Parameter::OwnOfWide:
      return is_half(dtype) ? std::nullopt : std::optional(dtype);
    case Parameter::Compute:
      return is_floating(dtype) ? scalar_operand_dtype(dtype) : dtype;
  }
  return std::nullopt;
}

void raise_does_not_fit(const std::string& op, DType dtype) {
  std::string_view name = row(dtype).type_name;
  if (name.starts_with("::md::")) name.remove_prefix(6);
  bool own = is_half(dtype);
  // In torch's type names "int" is only int32_t.
  raise_op(ErrorKind::Runtime, op, "value cannot be converted to type ", own ? "c10::" : "",
           dtype == DType::int32 ? std::string_view("int") : name, " without overflow");
}

void check_numbers(const OpCall& call, const PointwiseForm& form, DType dtype) {
  auto check = [&](int arg, DType holds) {
    const Scalar* number = std::get_if<Scalar>(&call.args[static_cast<size_t>(arg)]);
    if (number != nullptr && !fits(holds, *number)) raise_does_not_fit(call.row.name, holds);
  };
  for (int i = 0; i < form.operand_count; ++i)
    if (std::optional<DType> holds = checked_operand(form.row, i, dtype)) check(form.operands[i], *holds);
  if (form.param < 0) return;
  if (std::optional<DType> holds = checked_param(form.row, dtype)) check(form.param, *holds);
}

}  // namespace md
