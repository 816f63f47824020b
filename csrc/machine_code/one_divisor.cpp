// With y = 1/d rounded and z the rest of it, q = a y + a z is within one unit in the last place of a/d, a - q d is exact,
// and q + (a - q d) y is a/d rounded. Nothing on the way may be too large or too small, so magnitudes far from 1, infinities
// and NaNs are divided; zeros need only their sign.
// Source: P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, IBM Journal of Research and
// Development 34 (1990); N. Brisebarre, J.-M. Muller, S. K. Raina, Accelerating correctly rounded floating-point division when
// the divisor is known in advance, IEEE Transactions on Computers 53 (2004).
#include "machine_code/one_divisor.h"

#include <bit>

namespace md {
namespace {

constexpr uint8_t kMul = 0x59, kDiv = 0x5e, kMulAdd = 0xb8, kNegMulAdd = 0xbc;

// Magnitudes from 2^-n to 2^n are divided without a division. They are compared as integers, without the sign and so shifted by
// one: where the least one is, and how far the largest is from it.
struct SafeRange {
  uint64_t least, extent;
};
SafeRange safe_range(bool is_wide) {
  auto shifted = [&](double value) {
    return is_wide ? std::bit_cast<uint64_t>(value) << 1
                   : uint64_t{std::bit_cast<uint32_t>(static_cast<float>(value))} << 1;
  };
  uint64_t least = shifted(is_wide ? 0x1p-500 : 0x1p-62f), most = shifted(is_wide ? 0x1p500 : 0x1p62f);
  return {least, most - least};
}

// The bits of the magnitude, times two.
void magnitude(VectorBody& body, VectorRegister dst, VectorRegister a) { body.sum(dst, a, a); }
void is_below(VectorBody& body, MaskRegister dst, VectorRegister a, VectorRegister b) {
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

}  // namespace

bool divides_in_turn() {
  static const bool is_amd = __builtin_cpu_is("amd") != 0;
  return is_amd;
}

void prepare_divisor(VectorBody& body, const DivisorRegisters& registers) {
  constexpr VectorRegister one = {0}, distance = {1}, extent = {2};
  constexpr MaskRegister is_safe = {1};
  SafeRange range = safe_range(body.is_wide());
  auto literal = [&](VectorRegister dst, uint64_t bits) { body.broadcast(dst, CodeConstant{.bits = bits}); };
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
  body.keep(registers.limit, is_safe, extent);
}

void divide_by_one(VectorBody& body, VectorRegister dst, VectorRegister a, const DivisorRegisters& registers) {
  Assembler& assembler = body.assembler();
  VectorRegister least = body.constant_bits(safe_range(body.is_wide()).least), other = body.scratch();
  MaskRegister is_right = body.scratch_mask(), zeros = body.scratch_mask();
  magnitude(body, other, a);
  body.difference(other, other, least);
  is_below(body, is_right, other, registers.limit);
  body.floats(kMul, dst, a, registers.rest);
  body.multiply_add(kMulAdd, dst, a, registers.reciprocal);
  body.move(other, a);
  body.multiply_add(kNegMulAdd, other, dst, registers.divisor);
  body.multiply_add(kMulAdd, dst, other, registers.reciprocal);
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
