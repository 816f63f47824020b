// With y = 1/d rounded and z its residual, q = a y + a z is within one ulp of a/d, a - q d is exact, and q + (a - q d)
// y is a/d correctly rounded. No intermediate may overflow or underflow, so magnitudes far from 1, infinities and NaNs
// use a division; zeros only need their sign. Source: P. Markstein, Computation of elementary functions on the IBM
// RISC System/6000 processor, IBM Journal of Research and Development 34 (1990); N. Brisebarre, J.-M. Muller, S. K.
// Raina, Accelerating correctly rounded floating-point division when the divisor is known in advance, IEEE
// Transactions on Computers 53 (2004).
#include "machine_code/one_divisor.h"

#include <bit>

namespace md {
namespace {

constexpr uint8_t kMul = 0x59, kDiv = 0x5e, kMulAdd = 0xb8, kNegMulAdd = 0xbc;

// Magnitudes from 2^-n to 2^n are computed without a division. Their bits are compared as integers, shifted left by one
// to drop the sign: `least` is the lower bound, `extent` the distance to the upper one. AVX2 has only signed
// comparisons, so there distances are biased by half the range; no distance is below `none`.
struct SafeRange {
  uint64_t least, extent, none;
};
SafeRange safe_range(const VectorBody& body) {
  bool is_wide = body.is_wide();
  auto shifted = [&](double value) {
    return is_wide ? std::bit_cast<uint64_t>(value) << 1
                   : uint64_t{std::bit_cast<uint32_t>(static_cast<float>(value))} << 1;
  };
  uint64_t least = shifted(is_wide ? 0x1p-500 : 0x1p-62f), extent = shifted(is_wide ? 0x1p500 : 0x1p62f) - least;
  if (body.has_mask_registers()) return {least, extent, 0};
  uint64_t half = is_wide ? uint64_t{1} << 63 : uint64_t{1} << 31;
  return {least + half, extent - half, half};
}
uint64_t of_element(const VectorBody& body, uint64_t bits) { return body.is_wide() ? bits : bits & 0xffffffff; }

// The bits of the magnitude, times two.
void magnitude(VectorBody& body, VectorRegister dst, VectorRegister a) { body.sum(dst, a, a); }
void is_below(VectorBody& body, MaskRegister dst, VectorRegister a, VectorRegister b) {
  if (!body.has_mask_registers()) return body.compare_integers(dst, a, b, IntegerRelation::Less);
  constexpr uint8_t kCompareUnsigned = 0x1e, kIsLess = 1;
  body.assembler().vector({OpcodeMap::Map0F3A, OpcodePrefix::P66, body.is_wide(), kCompareUnsigned}, dst.id, a.id, b);
  body.assembler().immediate(kIsLess);
}
constexpr uint8_t kTest = 0x27;
void is_not_zero(VectorBody& body, MaskRegister dst, VectorRegister a) {
  body.assembler().vector({OpcodeMap::Map0F38, OpcodePrefix::P66, body.is_wide(), kTest}, dst.id, a.id, a);
}
void is_zero(VectorBody& body, MaskRegister dst, VectorRegister a, MaskRegister where) {
  body.assembler().vector({OpcodeMap::Map0F38, OpcodePrefix::PF3, body.is_wide(), kTest}, dst.id, a.id, a,
                          {where, false});
}

// dst = a / divisor, where all intermediates are in the safe range.
void multiply_and_correct(VectorBody& body, VectorRegister dst, VectorRegister a, VectorRegister rest_of_a,
                          const DivisorRegisters& registers) {
  body.floats(kMul, dst, a, registers.rest);
  body.multiply_add(kMulAdd, dst, a, registers.reciprocal);
  body.move(rest_of_a, a);
  body.multiply_add(kNegMulAdd, rest_of_a, dst, registers.divisor);
  body.multiply_add(kMulAdd, dst, rest_of_a, registers.reciprocal);
}

// Divides any vector that is not safe as a whole. Clobbers kScratchPointer.
void divide_by_one_with_avx2(VectorBody& body, VectorRegister dst, VectorRegister a,
                             const DivisorRegisters& registers) {
  Assembler& assembler = body.assembler();
  VectorRegister least = body.constant_bits(of_element(body, safe_range(body).least));
  VectorRegister is_right = body.scratch(), rest_of_a = body.scratch();
  magnitude(body, is_right, a);
  body.difference(is_right, is_right, least);
  is_below(body, {is_right.id}, is_right, registers.limit);
  multiply_and_correct(body, dst, a, rest_of_a, registers);
  assembler.signs_from(kScratchPointer, is_right, body.is_wide());
  assembler.add(kScratchPointer, -((1 << body.lanes()) - 1));
  Assembler::Jump to_end = assembler.jump_if(Assembler::Condition::Equal);
  body.floats(kDiv, dst, a, registers.divisor);
  assembler.bind(to_end);
}

}  // namespace

bool divides_in_turn() {
  static const bool is_amd = __builtin_cpu_is("amd") != 0;
  return is_amd;
}

void prepare_divisor(VectorBody& body, const DivisorRegisters& registers) {
  constexpr VectorRegister one = {0}, distance = {1}, extent = {2};
  constexpr MaskRegister is_safe = {1};
  SafeRange range = safe_range(body);
  auto literal = [&](VectorRegister dst, uint64_t bits) {
    body.broadcast(dst, CodeConstant{.bits = of_element(body, bits)});
  };
  literal(one, body.is_wide() ? std::bit_cast<uint64_t>(1.0) : std::bit_cast<uint32_t>(1.0f));
  body.floats(kDiv, registers.reciprocal, one, registers.divisor);
  body.move(registers.rest, one);
  body.multiply_add(kNegMulAdd, registers.rest, registers.reciprocal, registers.divisor);
  body.floats(kMul, registers.rest, registers.rest, registers.reciprocal);
  literal(extent, range.extent);
  literal(registers.limit, range.least);
  magnitude(body, distance, registers.divisor);
  body.difference(distance, distance, registers.limit);
  is_below(body, is_safe, distance, extent);
  if (range.none == 0) return body.keep(registers.limit, is_safe, extent);
  literal(registers.limit, range.none);
  body.overwrite(registers.limit, is_safe, extent);
}

void divide_by_one(VectorBody& body, VectorRegister dst, VectorRegister a, const DivisorRegisters& registers) {
  if (!body.has_mask_registers()) return divide_by_one_with_avx2(body, dst, a, registers);
  Assembler& assembler = body.assembler();
  VectorRegister least = body.constant_bits(safe_range(body).least), other = body.scratch();
  MaskRegister is_right = body.scratch_mask(), zeros = body.scratch_mask();
  magnitude(body, other, a);
  body.difference(other, other, least);
  is_below(body, is_right, other, registers.limit);
  multiply_and_correct(body, dst, a, other, registers);
  assembler.test_all_ones(is_right, is_right, body.lanes());
  Assembler::Jump to_end = assembler.jump_if(Assembler::Condition::Carry);
  magnitude(body, other, a);
  is_not_zero(body, zeros, registers.limit);
  is_zero(body, zeros, other, zeros);
  body.floats(kMul, other, a, registers.reciprocal);
  body.overwrite(dst, zeros, other);
  assembler.test_all_ones(is_right, zeros, body.lanes());
  Assembler::Jump also_to_end = assembler.jump_if(Assembler::Condition::Carry);
  body.floats(kDiv, dst, a, registers.divisor);
  assembler.bind(to_end);
  assembler.bind(also_to_end);
}

}  // namespace md
