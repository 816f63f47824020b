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

constexpr uint8_t kMul = 0x59, kDiv = 0x5e, kMulAdd = 0xb8, kNegMulAdd = 0xbc, kAddInt32 = 0xfe, kAddInt64 = 0xd4;
constexpr uint8_t kSubtractInt32 = 0xfa, kSubtractInt64 = 0xfb, kTest = 0x27, kCompareUnsigned = 0x1e,
                  kBroadcast32 = 0x18, kBroadcast64 = 0x19, kMoveInt32 = 0x6f, kMove = 0x28;
constexpr uint8_t kIsLess = 1;

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

// The operations that both parts need, on elements of one size.
class Operations {
 public:
  Operations(Assembler& assembler, bool is_wide) : assembler_(assembler), is_wide_(is_wide) {}

  void floats(uint8_t code, VectorRegister dst, VectorRegister a, VectorRegister b, Predicate predicate = {}) {
    OpcodePrefix prefix = is_wide_ ? OpcodePrefix::P66 : OpcodePrefix::None;
    assembler_.vector({OpcodeMap::Map0F, prefix, is_wide_, code}, dst.id, a.id, b, predicate);
  }
  void multiply_add(uint8_t code, VectorRegister sum, VectorRegister a, VectorRegister b) {
    assembler_.vector({OpcodeMap::Map0F38, OpcodePrefix::P66, is_wide_, code}, sum.id, a.id, b);
  }
  void move(VectorRegister dst, VectorRegister src) { floats(kMove, dst, {0}, src); }
  void literal(VectorRegister dst, uint64_t bits) {
    uint8_t code = is_wide_ ? kBroadcast64 : kBroadcast32;
    assembler_.vector({OpcodeMap::Map0F38, OpcodePrefix::P66, is_wide_, code}, dst.id, 0, assembler_.literal(bits));
  }
  // The bits of the magnitude, times two.
  void magnitude(VectorRegister dst, VectorRegister a) { integers(is_wide_ ? kAddInt64 : kAddInt32, dst, a, a); }
  void subtract_bits(VectorRegister dst, VectorRegister a, VectorRegister b) {
    integers(is_wide_ ? kSubtractInt64 : kSubtractInt32, dst, a, b);
  }
  void is_below(MaskRegister dst, VectorRegister a, VectorRegister b) {
    assembler_.vector({OpcodeMap::Map0F3A, OpcodePrefix::P66, is_wide_, kCompareUnsigned}, dst.id, a.id, b);
    assembler_.immediate(kIsLess);
  }
  void is_not_zero(MaskRegister dst, VectorRegister a) {
    assembler_.vector({OpcodeMap::Map0F38, OpcodePrefix::P66, is_wide_, kTest}, dst.id, a.id, a);
  }
  void is_zero(MaskRegister dst, VectorRegister a, MaskRegister where) {
    assembler_.vector({OpcodeMap::Map0F38, OpcodePrefix::PF3, is_wide_, kTest}, dst.id, a.id, a, {where, false});
  }
  void keep(VectorRegister dst, MaskRegister mask, VectorRegister src) {
    assembler_.vector({OpcodeMap::Map0F, OpcodePrefix::P66, is_wide_, kMoveInt32}, dst.id, 0, src, {mask, true});
  }

 private:
  void integers(uint8_t code, VectorRegister dst, VectorRegister a, VectorRegister b) {
    assembler_.vector({OpcodeMap::Map0F, OpcodePrefix::P66, is_wide_, code}, dst.id, a.id, b);
  }

  Assembler& assembler_;
  bool is_wide_;
};

}  // namespace

void prepare_divisor(Assembler& assembler, const DivisorRegisters& registers, bool is_wide) {
  constexpr VectorRegister one = {0}, distance = {1}, extent = {2};
  constexpr MaskRegister is_safe = {1};
  Operations on(assembler, is_wide);
  SafeRange range = safe_range(is_wide);
  on.literal(one, is_wide ? std::bit_cast<uint64_t>(1.0) : std::bit_cast<uint32_t>(1.0f));
  on.floats(kDiv, registers.reciprocal, one, registers.divisor);
  on.move(registers.rest, one);
  on.multiply_add(kNegMulAdd, registers.rest, registers.reciprocal, registers.divisor);
  on.floats(kMul, registers.rest, registers.rest, registers.reciprocal);
  on.literal(extent, range.extent);
  on.literal(registers.limit, range.least);
  on.magnitude(distance, registers.divisor);
  on.subtract_bits(distance, distance, registers.limit);
  on.is_below(is_safe, distance, extent);
  on.keep(registers.limit, is_safe, extent);
}

void divide_by_one(VectorBody& body, VectorRegister dst, VectorRegister a, const DivisorRegisters& registers) {
  Assembler& assembler = body.assembler();
  Operations on(assembler, body.is_wide());
  VectorRegister least = body.constant_bits(safe_range(body.is_wide()).least), other = body.scratch();
  MaskRegister is_right = body.scratch_mask(), is_zero = body.scratch_mask();
  on.magnitude(other, a);
  on.subtract_bits(other, other, least);
  on.is_below(is_right, other, registers.limit);
  on.floats(kMul, dst, a, registers.rest);
  on.multiply_add(kMulAdd, dst, a, registers.reciprocal);
  on.move(other, a);
  on.multiply_add(kNegMulAdd, other, dst, registers.divisor);
  on.multiply_add(kMulAdd, dst, other, registers.reciprocal);
  assembler.test_all_ones(is_right, is_right, body.lanes());
  Assembler::Jump to_end = assembler.jump_if(Assembler::Condition::Carry);
  on.magnitude(other, a);
  on.is_not_zero(is_zero, registers.limit);
  on.is_zero(is_zero, other, is_zero);
  on.floats(kMul, dst, a, registers.reciprocal, {is_zero, false});
  assembler.test_all_ones(is_right, is_zero, body.lanes());
  Assembler::Jump also_to_end = assembler.jump_if(Assembler::Condition::Carry);
  on.floats(kDiv, dst, a, registers.divisor);
  assembler.bind(to_end);
  assembler.bind(also_to_end);
}

}  // namespace md
