#include "machine_code/pointwise_emitters.h"

#include "machine_code/one_divisor.h"
#include "tensor/simd/pointwise_table.h"

namespace md {
namespace {

// Opcodes of vaddps and its relatives.
constexpr uint8_t kAdd = 0x58, kMul = 0x59, kSub = 0x5c, kMin = 0x5d, kDiv = 0x5e, kMax = 0x5f, kSqrt = 0x51;
constexpr uint8_t kMulAdd = 0xb8, kNegMulAdd = 0xbc;
constexpr uint8_t kAnd = 0xdb, kOr = 0xeb, kXor = 0xef;
// Rounding modes, with the inexact exception suppressed.
constexpr uint8_t kNearest = 8, kDown = 9, kUp = 10, kToZero = 11;

using B = VectorBody;
using O = EmitterOperands;
using enum FloatRelation;
using Int = IntegerRelation;

VectorRegister zero(B& body) { return body.constant_bits(0); }
VectorRegister one(B& body) { return body.constant(1.0); }
VectorRegister param(B& body, const O& o, int i = 0) { return body.constant(o.params[i].as_double()); }
VectorRegister int_param(B& body, const O& o) {
  uint64_t bits = static_cast<uint64_t>(o.params->as_int());
  return body.constant_bits(body.is_wide() ? bits : bits & 0xffffffff);
}

template <uint8_t code>
void float_op(B& body, const O& o) {
  body.floats(code, o.to(), o.a(), o.b());
}
template <FloatRelation relation>
void float_compare(B& body, const O& o) {
  body.compare_floats(o.to_mask(), o.a(), o.b(), relation);
}
template <uint8_t mode>
void float_round(B& body, const O& o) {
  body.round(o.to(), o.a(), mode);
}

void float_neg(B& body, const O& o) { body.logic(kXor, o.to(), o.a(), body.sign_bit()); }
void float_abs(B& body, const O& o) { body.logic(kAnd, o.to(), o.a(), body.rest_bits()); }
void float_sign(B& body, const O& o) {
  MaskRegister mask = body.scratch_mask();
  body.compare_floats(mask, o.a(), zero(body), Greater);
  body.keep(o.to(), mask, one(body));
  body.compare_floats(mask, o.a(), zero(body), Less);
  body.overwrite(o.to(), mask, body.constant(-1.0));
}
void float_square(B& body, const O& o) { body.floats(kMul, o.to(), o.a(), o.a()); }
void float_cube(B& body, const O& o) {
  body.floats(kMul, o.to(), o.a(), o.a());
  body.floats(kMul, o.to(), o.to(), o.a());
}
void float_reciprocal(B& body, const O& o) { body.floats(kDiv, o.to(), one(body), body.without_idle_lanes(o.a())); }
void float_sqrt(B& body, const O& o) { body.floats(kSqrt, o.to(), {0}, body.without_idle_lanes(o.a())); }
void float_rsqrt(B& body, const O& o) {
  float_sqrt(body, o);
  body.floats(kDiv, o.to(), one(body), o.to());
}
void float_frac(B& body, const O& o) {
  body.round(o.to(), o.a(), kToZero);
  body.floats(kSub, o.to(), o.a(), o.to());
}
void float_signbit(B& body, const O& o) { body.sign_mask(o.to_mask(), o.a()); }
// The second operand if either is NaN or both are zero.
void float_relu(B& body, const O& o) { body.floats(kMax, o.to(), zero(body), o.a()); }
void float_leaky_relu(B& body, const O& o) {
  MaskRegister mask = body.scratch_mask();
  body.compare_floats(mask, o.a(), zero(body), Greater);
  body.floats(kMul, o.to(), o.a(), param(body, o));
  body.overwrite(o.to(), mask, o.a());
}
void float_isnan(B& body, const O& o) { body.compare_floats(o.to_mask(), o.a(), o.a(), Unordered); }
void float_against_infinity(B& body, const O& o, FloatRelation relation) {
  VectorRegister magnitude = body.scratch();
  body.logic(kAnd, magnitude, o.a(), body.rest_bits());
  body.compare_floats(o.to_mask(), magnitude, body.constant(__builtin_inf()), relation);
}
void float_isinf(B& body, const O& o) { float_against_infinity(body, o, Equal); }
void float_isfinite(B& body, const O& o) { float_against_infinity(body, o, Less); }
void float_is_zero(B& body, const O& o) { body.compare_floats(o.to_mask(), o.a(), zero(body), Equal); }
void float_is_not_zero(B& body, const O& o) { body.compare_floats(o.to_mask(), o.a(), zero(body), NotEqual); }
void float_add_scaled(B& body, const O& o) {
  body.move(o.to(), o.a());
  body.multiply_add(kMulAdd, o.to(), param(body, o), o.b());
}
void float_sub_scaled(B& body, const O& o) {
  body.move(o.to(), o.a());
  body.multiply_add(kNegMulAdd, o.to(), param(body, o), o.b());
}
void float_div(B& body, const O& o) {
  if (o.one_b < 0) return body.floats(kDiv, o.to(), o.a(), body.without_idle_lanes(o.b()));
  // A single element is in all lanes.
  std::optional<DivisorRegisters> divisor = body.divisor(o.one_b);
  divisor ? divide_by_one(body, o.to(), o.a(), *divisor) : body.floats(kDiv, o.to(), o.a(), o.b());
}
void float_div_trunc(B& body, const O& o) {
  float_div(body, o);
  body.round(o.to(), o.to(), kToZero);
}
void float_copysign(B& body, const O& o) {
  body.move(o.to(), body.sign_bit());
  body.choose_bits(o.to(), o.b(), o.a());
}
// a if it is NaN, else the instruction's result, which is b if b is NaN.
void extreme(B& body, uint8_t code, VectorRegister to, VectorRegister a, VectorRegister b) {
  MaskRegister mask = body.scratch_mask();
  body.compare_floats(mask, a, a, Unordered);
  body.floats(code, to, a, b);
  body.overwrite(to, mask, a);
}
template <uint8_t code>
void float_extreme(B& body, const O& o) {
  extreme(body, code, o.to(), o.a(), o.b());
}
// b if a is NaN, which is the instruction's result, and a if b is NaN.
template <uint8_t code>
void float_extreme_number(B& body, const O& o) {
  MaskRegister mask = body.scratch_mask();
  body.compare_floats(mask, o.b(), o.b(), Unordered);
  body.floats(code, o.to(), o.a(), o.b());
  body.overwrite(o.to(), mask, o.a());
}
void float_clamp(B& body, const O& o) {
  VectorRegister at_least = body.scratch();
  extreme(body, kMax, at_least, o.a(), o.b());
  extreme(body, kMin, o.to(), at_least, o.c());
}
// To [0, 1] from [-3, 3], times `factor` if there is one.
void hard_step(B& body, const O& o, const VectorRegister* factor) {
  VectorRegister moved = body.scratch(), limited = body.scratch();
  VectorRegister six = body.constant(6.0);
  body.floats(kAdd, moved, o.a(), body.constant(3.0));
  // The second operand is the result if it is NaN.
  body.floats(kMax, limited, zero(body), moved);
  body.floats(kMin, moved, six, limited);
  if (factor != nullptr) body.floats(kMul, moved, *factor, moved);
  body.floats(kDiv, o.to(), moved, six);
}
void float_hardsigmoid(B& body, const O& o) { hard_step(body, o, nullptr); }
void float_hardswish(B& body, const O& o) {
  VectorRegister a = o.a();
  hard_step(body, o, &a);
}
void float_heaviside(B& body, const O& o) {
  MaskRegister mask = body.scratch_mask();
  body.compare_floats(mask, o.a(), zero(body), Greater);
  body.keep(o.to(), mask, one(body));
  body.compare_floats(mask, o.a(), zero(body), Equal);
  body.overwrite(o.to(), mask, o.b());
}
// 0 where -b <= a <= b.
void float_hardshrink(B& body, const O& o) {
  MaskRegister above = body.scratch_mask(), below = body.scratch_mask();
  VectorRegister negative = body.scratch();
  body.logic(kXor, negative, o.b(), body.sign_bit());
  body.compare_floats(above, o.a(), negative, GreaterEqual);
  body.compare_floats(below, o.a(), o.b(), LessEqual);
  body.combine(MaskLogic::And, above, above, below);
  body.blend(o.to(), above, zero(body), o.a());
}
void float_softshrink(B& body, const O& o) {
  MaskRegister mask = body.scratch_mask();
  VectorRegister moved = body.scratch(), negative = body.scratch();
  body.logic(kXor, negative, o.b(), body.sign_bit());
  body.floats(kMul, o.to(), o.a(), zero(body));
  body.compare_floats(mask, o.a(), negative, Less);
  body.floats(kAdd, moved, o.a(), o.b());
  body.overwrite(o.to(), mask, moved);
  body.compare_floats(mask, o.a(), o.b(), Greater);
  body.floats(kSub, moved, o.a(), o.b());
  body.overwrite(o.to(), mask, moved);
}
void float_threshold(B& body, const O& o) {
  MaskRegister mask = body.scratch_mask();
  body.compare_floats(mask, o.a(), param(body, o), LessEqual);
  body.blend(o.to(), mask, o.b(), o.a());
}
void float_nan_to_num(B& body, const O& o) {
  MaskRegister mask = body.scratch_mask();
  body.move(o.to(), o.a());
  body.compare_floats(mask, o.a(), o.a(), Unordered);
  body.overwrite(o.to(), mask, param(body, o, 0));
  body.compare_floats(mask, o.a(), body.constant(__builtin_inf()), Equal);
  body.overwrite(o.to(), mask, param(body, o, 1));
  body.compare_floats(mask, o.a(), body.constant(-__builtin_inf()), Equal);
  body.overwrite(o.to(), mask, param(body, o, 2));
}
void float_addcmul(B& body, const O& o) {
  body.move(o.to(), o.a());
  body.multiply_add(kMulAdd, o.to(), o.b(), o.c());
}
void float_addcdiv(B& body, const O& o) {
  VectorRegister quotient = body.scratch();
  body.floats(kDiv, quotient, o.b(), body.without_idle_lanes(o.c()));
  body.floats(kAdd, o.to(), o.a(), quotient);
}
void float_addcmul_scaled(B& body, const O& o) {
  VectorRegister scaled = body.scratch();
  body.floats(kMul, scaled, param(body, o), o.b());
  body.move(o.to(), o.a());
  body.multiply_add(kMulAdd, o.to(), scaled, o.c());
}
void float_addcdiv_scaled(B& body, const O& o) {
  VectorRegister term = body.scratch();
  body.floats(kMul, term, param(body, o), o.b());
  body.floats(kDiv, term, term, body.without_idle_lanes(o.c()));
  body.floats(kAdd, o.to(), o.a(), term);
}
void float_lerp(B& body, const O& o) {
  VectorRegister distance = body.scratch(), rest = body.scratch();
  MaskRegister near = body.scratch_mask();
  body.logic(kAnd, rest, o.c(), body.rest_bits());
  body.compare_floats(near, rest, body.constant(0.5), Less);
  body.floats(kSub, distance, o.b(), o.a());
  body.floats(kSub, rest, one(body), o.c());
  body.move(o.to(), o.b());
  body.multiply_add(kNegMulAdd, o.to(), distance, rest);
  body.move(rest, o.a());
  body.multiply_add(kMulAdd, rest, o.c(), distance);
  body.overwrite(o.to(), near, rest);
}
template <MaskLogic logic>
void float_logical(B& body, const O& o) {
  MaskRegister other = body.scratch_mask();
  body.compare_floats(o.to_mask(), o.a(), zero(body), NotEqual);
  body.compare_floats(other, o.b(), zero(body), NotEqual);
  body.combine(logic, o.to_mask(), o.to_mask(), other);
}

void select(B& body, const O& o) { body.blend(o.to(), o.mask_a(), o.b(), o.c()); }

template <IntegerRelation relation>
void int_compare(B& body, const O& o) {
  body.compare_integers(o.to_mask(), o.a(), o.b(), relation);
}
void int_add(B& body, const O& o) { body.sum(o.to(), o.a(), o.b()); }
void int_sub(B& body, const O& o) { body.difference(o.to(), o.a(), o.b()); }
void int_mul(B& body, const O& o) { body.product(o.to(), o.a(), o.b()); }
void int_neg(B& body, const O& o) { body.difference(o.to(), zero(body), o.a()); }
void int_abs(B& body, const O& o) { body.absolute(o.to(), o.a()); }
void int_square(B& body, const O& o) { body.product(o.to(), o.a(), o.a()); }
void int_cube(B& body, const O& o) {
  body.product(o.to(), o.a(), o.a());
  body.product(o.to(), o.to(), o.a());
}
void int_add_scaled(B& body, const O& o) {
  body.product(o.to(), int_param(body, o), o.b());
  body.sum(o.to(), o.a(), o.to());
}
void int_sub_scaled(B& body, const O& o) {
  body.product(o.to(), int_param(body, o), o.b());
  body.difference(o.to(), o.a(), o.to());
}
template <Extreme which>
void int_extreme(B& body, const O& o) {
  body.extreme(which, o.to(), o.a(), o.b());
}
void int_clamp(B& body, const O& o) {
  body.extreme(Extreme::Max, o.to(), o.a(), o.b());
  body.extreme(Extreme::Min, o.to(), o.to(), o.c());
}
void int_addcmul(B& body, const O& o) {
  body.product(o.to(), o.b(), o.c());
  body.sum(o.to(), o.a(), o.to());
}
void int_relu(B& body, const O& o) { body.extreme(Extreme::Max, o.to(), o.a(), zero(body)); }
void int_is_zero(B& body, const O& o) { body.compare_integers(o.to_mask(), o.a(), zero(body), Int::Equal); }
void int_is_not_zero(B& body, const O& o) { body.compare_integers(o.to_mask(), o.a(), zero(body), Int::NotEqual); }
template <uint8_t code>
void int_logic(B& body, const O& o) {
  body.logic(code, o.to(), o.a(), o.b());
}
void int_not(B& body, const O& o) {
  body.logic(kXor, o.to(), o.a(), body.constant_bits(body.is_wide() ? ~uint64_t{0} : 0xffffffff));
}
template <MaskLogic logic>
void int_logical(B& body, const O& o) {
  MaskRegister other = body.scratch_mask();
  body.compare_integers(o.to_mask(), o.a(), zero(body), Int::NotEqual);
  body.compare_integers(other, o.b(), zero(body), Int::NotEqual);
  body.combine(logic, o.to_mask(), o.to_mask(), other);
}

template <MaskLogic logic>
void bool_op(B& body, const O& o) {
  body.combine(logic, o.to_mask(), o.mask_a(), o.mask_b());
}
void bool_not(B& body, const O& o) { body.invert(o.to_mask(), o.mask_a()); }
void bool_greater(B& body, const O& o) { body.combine(MaskLogic::AndNot, o.to_mask(), o.mask_b(), o.mask_a()); }

struct EmitterRow {
  Pointwise row;
  Emitter floats, integers, bools;
};

constexpr EmitterRow kEmitters[] = {
    {Pointwise::neg, float_neg, int_neg, nullptr},
    {Pointwise::abs, float_abs, int_abs, nullptr},
    {Pointwise::sign, float_sign, nullptr, nullptr},
    {Pointwise::square, float_square, int_square, nullptr},
    {Pointwise::cube, float_cube, int_cube, nullptr},
    {Pointwise::reciprocal, float_reciprocal, nullptr, nullptr},
    {Pointwise::sqrt, float_sqrt, nullptr, nullptr},
    {Pointwise::rsqrt, float_rsqrt, nullptr, nullptr},
    {Pointwise::floor, float_round<kDown>, nullptr, nullptr},
    {Pointwise::ceil, float_round<kUp>, nullptr, nullptr},
    {Pointwise::trunc, float_round<kToZero>, nullptr, nullptr},
    {Pointwise::round, float_round<kNearest>, nullptr, nullptr},
    {Pointwise::frac, float_frac, nullptr, nullptr},
    {Pointwise::signbit, float_signbit, nullptr, nullptr},
    {Pointwise::relu, float_relu, int_relu, nullptr},
    {Pointwise::leaky_relu, float_leaky_relu, nullptr, nullptr},
    {Pointwise::hardsigmoid, float_hardsigmoid, nullptr, nullptr},
    {Pointwise::hardswish, float_hardswish, nullptr, nullptr},
    {Pointwise::nan_to_num, float_nan_to_num, nullptr, nullptr},
    {Pointwise::logical_not, float_is_zero, int_is_zero, bool_not},
    {Pointwise::bitwise_not, nullptr, int_not, bool_not},
    {Pointwise::isnan, float_isnan, nullptr, nullptr},
    {Pointwise::isinf, float_isinf, nullptr, nullptr},
    {Pointwise::isfinite, float_isfinite, nullptr, nullptr},
    {Pointwise::add, float_op<kAdd>, int_add, bool_op<MaskLogic::Or>},
    {Pointwise::add_scaled, float_add_scaled, int_add_scaled, nullptr},
    {Pointwise::sub, float_op<kSub>, int_sub, nullptr},
    {Pointwise::sub_scaled, float_sub_scaled, int_sub_scaled, nullptr},
    {Pointwise::mul, float_op<kMul>, int_mul, bool_op<MaskLogic::And>},
    {Pointwise::div, float_div, nullptr, nullptr},
    {Pointwise::div_trunc, float_div_trunc, nullptr, nullptr},
    {Pointwise::copysign, float_copysign, nullptr, nullptr},
    {Pointwise::fmax, float_extreme_number<kMax>, int_extreme<Extreme::Max>, bool_op<MaskLogic::Or>},
    {Pointwise::fmin, float_extreme_number<kMin>, int_extreme<Extreme::Min>, bool_op<MaskLogic::And>},
    {Pointwise::maximum, float_extreme<kMax>, int_extreme<Extreme::Max>, bool_op<MaskLogic::Or>},
    {Pointwise::minimum, float_extreme<kMin>, int_extreme<Extreme::Min>, bool_op<MaskLogic::And>},
    {Pointwise::logical_and, float_logical<MaskLogic::And>, int_logical<MaskLogic::And>, bool_op<MaskLogic::And>},
    {Pointwise::logical_or, float_logical<MaskLogic::Or>, int_logical<MaskLogic::Or>, bool_op<MaskLogic::Or>},
    {Pointwise::logical_xor, float_logical<MaskLogic::Xor>, int_logical<MaskLogic::Xor>, bool_op<MaskLogic::Xor>},
    {Pointwise::bitwise_and, nullptr, int_logic<kAnd>, bool_op<MaskLogic::And>},
    {Pointwise::bitwise_or, nullptr, int_logic<kOr>, bool_op<MaskLogic::Or>},
    {Pointwise::bitwise_xor, nullptr, int_logic<kXor>, bool_op<MaskLogic::Xor>},
    {Pointwise::heaviside, float_heaviside, nullptr, nullptr},
    {Pointwise::hardshrink, float_hardshrink, nullptr, nullptr},
    {Pointwise::softshrink, float_softshrink, nullptr, nullptr},
    {Pointwise::threshold, float_threshold, nullptr, nullptr},
    {Pointwise::eq, float_compare<Equal>, int_compare<Int::Equal>, bool_op<MaskLogic::Xnor>},
    {Pointwise::ne, float_compare<NotEqual>, int_compare<Int::NotEqual>, bool_op<MaskLogic::Xor>},
    {Pointwise::lt, float_compare<Less>, int_compare<Int::Less>, bool_op<MaskLogic::AndNot>},
    {Pointwise::le, float_compare<LessEqual>, int_compare<Int::LessEqual>, nullptr},
    {Pointwise::gt, float_compare<Greater>, int_compare<Int::Greater>, bool_greater},
    {Pointwise::ge, float_compare<GreaterEqual>, int_compare<Int::GreaterEqual>, nullptr},
    {Pointwise::where, select, select, nullptr},
    {Pointwise::clamp, float_clamp, int_clamp, nullptr},
    {Pointwise::lerp, float_lerp, nullptr, nullptr},
    {Pointwise::addcmul, float_addcmul, int_addcmul, nullptr},
    {Pointwise::addcmul_scaled, float_addcmul_scaled, nullptr, nullptr},
    {Pointwise::addcdiv, float_addcdiv, nullptr, nullptr},
    {Pointwise::addcdiv_scaled, float_addcdiv_scaled, nullptr, nullptr},
};

void float_from_bool(B& body, const O& o) { body.keep(o.to(), o.mask_a(), one(body)); }
void int_from_bool(B& body, const O& o) { body.keep(o.to(), o.mask_a(), body.constant_bits(1)); }
void float_from_int(B& body, const O& o) { body.integers_to_floats(o.to(), o.a()); }

bool is_float(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }
bool is_integer(DType dtype) { return dtype == DType::int32 || dtype == DType::int64; }

Emitter find_cast(DType from, DType to) {
  if (from == DType::bool_) return is_float(to) ? float_from_bool : is_integer(to) ? int_from_bool : nullptr;
  if (to == DType::bool_) return is_float(from) ? float_is_not_zero : is_integer(from) ? int_is_not_zero : nullptr;
  return is_integer(from) && is_float(to) && item_size(from) == item_size(to) ? float_from_int : nullptr;
}

}  // namespace

Emitter find_emitter(const CodeInstruction& instruction) {
  if (instruction.row < 0) return find_cast(instruction.dtype, instruction.result);
  // The interpreter loop rounds the product of two numbers before it starts; the others are part of one multiply_add.
  bool is_scaled = instruction.row == static_cast<int>(Pointwise::add_scaled) ||
                   instruction.row == static_cast<int>(Pointwise::sub_scaled);
  bool is_addcmul = instruction.row == static_cast<int>(Pointwise::addcmul) ||
                    instruction.row == static_cast<int>(Pointwise::addcmul_scaled);
  unsigned numbers = is_addcmul ? 6 : is_scaled ? 2 : 0;
  if (numbers != 0 && is_float(instruction.dtype) && (instruction.once & numbers) == numbers) return nullptr;
  for (const EmitterRow& row : kEmitters) {
    if (static_cast<int>(row.row) != instruction.row) continue;
    if (is_float(instruction.dtype)) return row.floats;
    if (is_integer(instruction.dtype)) return row.integers;
    // A bool that is a single element has no mask.
    return instruction.dtype == DType::bool_ && instruction.once == 0 ? row.bools : nullptr;
  }
  return nullptr;
}

}  // namespace md
