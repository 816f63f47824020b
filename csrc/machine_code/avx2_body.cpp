#include "machine_code/avx2_body.h"

namespace md {
namespace {

constexpr OpcodeMap k0F = OpcodeMap::Map0F, k38 = OpcodeMap::Map0F38, k3A = OpcodeMap::Map0F3A;
constexpr OpcodePrefix k66 = OpcodePrefix::P66;
constexpr VectorWidth k128 = VectorWidth::Bits128;
constexpr uint8_t kAnd = 0xdb, kAndNot = 0xdf, kOr = 0xeb, kXor = 0xef;
constexpr uint8_t kShiftImmediate = 0x73, kShiftRight = 2, kShiftLeft = 6;  // 64-bit; kShift* are the register field
// Registers for moving the bytes of a tail. Argument registers, which never hold addresses here.
constexpr WordRegister kBytes = WordRegister::rsi, kAt = WordRegister::rdi;

}  // namespace

VectorRegister Avx2Body::ones() {
  VectorRegister made = scratch();
  assembler().vector({k0F, k66, false, 0x76}, made.id, made.id, made);
  return made;
}

VectorRegister Avx2Body::zeros() {
  VectorRegister made = scratch();
  logic(kXor, made, made, made);
  return made;
}

void Avx2Body::greater(VectorRegister dst, VectorRegister a, VectorRegister b) {
  is_wide() ? integers(k38, 0x37, dst, a, b) : integers(k0F, 0x66, dst, a, b);
}

// Sets the elements with index < count.
void Avx2Body::make_tail_mask(WordRegister count) {
  VectorRegister mask = {tail_mask().id}, counts = {0};
  Literal numbers = assembler().literal(0x0706050403020100);
  assembler().vector({k38, k66, false, static_cast<uint8_t>(is_wide() ? 0x32 : 0x31)}, mask.id, 0, numbers);
  assembler().vector_from(counts, count);
  assembler().vector({k38, k66, false, static_cast<uint8_t>(is_wide() ? 0x59 : 0x58)}, counts.id, 0, counts);
  greater(mask, counts, mask);
}

void Avx2Body::load_vector(VectorRegister to, const MemoryOperand& memory) {
  if (is_tail()) {
    VectorRegister loaded = scratch();
    repeat_first(to, memory);
    assembler().vector({k38, k66, false, static_cast<uint8_t>(is_wide() ? 0x2d : 0x2c)}, loaded.id, tail_mask().id,
                       memory);
    return overwrite(to, tail_mask(), loaded);
  }
  assembler().vector({k0F, float_prefix(), false, 0x10}, to.id, 0, memory);
}

void Avx2Body::store_vector(VectorRegister from, const MemoryOperand& memory) {
  if (is_tail())
    return assembler().vector({k38, k66, false, static_cast<uint8_t>(is_wide() ? 0x2f : 0x2e)}, from.id, tail_mask().id,
                              memory);
  assembler().vector({k0F, float_prefix(), false, 0x11}, from.id, 0, memory);
}

// Widens bytes to elements and compares them with zero.
void Avx2Body::load_mask(MaskRegister to, const MemoryOperand& memory) {
  VectorRegister elements = {to.id};
  VectorOpcode widen = {k38, k66, false, static_cast<uint8_t>(is_wide() ? 0x32 : 0x31)};
  if (is_tail()) {
    load_bytes(elements, memory);
    assembler().vector(widen, elements.id, 0, elements);
  } else {
    assembler().vector(widen, elements.id, 0, memory);
  }
  greater(elements, elements, zeros());
}

void Avx2Body::store_mask(MaskRegister from, const MemoryOperand& memory) {
  VectorRegister bytes = scratch(), one_each = constant_bits(is_wide() ? 0x0101010101010101 : 0x01010101);
  auto pack = [&](uint8_t code, VectorRegister first) {
    assembler().vector({k0F, k66, false, code}, bytes.id, first.id, bytes, {}, k128);
  };
  assembler().vector({k3A, k66, false, 0x39}, from.id, 0, bytes);  // the upper half
  assembler().immediate(1);
  if (is_wide()) {
    constexpr uint8_t kEvenElements = 0x88;
    assembler().vector({k0F, OpcodePrefix::None, false, 0xc6}, bytes.id, from.id, bytes, {}, k128);
    assembler().immediate(kEvenElements);
    pack(0x6b, bytes);
  } else {
    pack(0x6b, {from.id});
  }
  pack(0x63, bytes);
  logic(kAnd, bytes, bytes, one_each);
  if (is_tail()) return store_bytes(bytes, memory);
  if (is_wide()) return assembler().vector({k0F, k66, false, 0x7e}, bytes.id, 0, memory, {}, k128);
  assembler().vector({k0F, k66, false, 0xd6}, bytes.id, 0, memory, {}, k128);
}

// Element by element, from last to first, so that nothing behind them is read.
void Avx2Body::load_bytes(VectorRegister to, MemoryOperand memory) {
  memory.index = kAt;
  memory.displacement -= 1;
  assembler().push(kAt);
  assembler().push(kBytes);
  assembler().clear(kBytes);
  assembler().move(kAt, kEnd);
  size_t next = assembler().position();
  assembler().shift_left(kBytes, 8);
  assembler().load_byte(kBytes, memory);
  assembler().add(kAt, -1);
  assembler().compare(kAt, kIndex);
  assembler().jump_back_if(Assembler::Condition::Greater, next);
  assembler().vector_from(to, kBytes);
  assembler().pop(kBytes);
  assembler().pop(kAt);
}

void Avx2Body::store_bytes(VectorRegister from, MemoryOperand memory) {
  memory.index = kAt;
  assembler().push(kAt);
  assembler().push(kBytes);
  assembler().word_from(kBytes, from);
  assembler().move(kAt, kIndex);
  size_t next = assembler().position();
  assembler().store_byte(kBytes, memory);
  assembler().shift_right(kBytes, 8);
  assembler().add(kAt, 1);
  assembler().compare(kAt, kEnd);
  assembler().jump_back_if(Assembler::Condition::Less, next);
  assembler().pop(kBytes);
  assembler().pop(kAt);
}

void Avx2Body::choose_bits(VectorRegister mask_and_dst, VectorRegister where_set, VectorRegister where_clear) {
  VectorRegister rest = scratch();
  logic(kAndNot, rest, mask_and_dst, where_clear);
  logic(kAnd, mask_and_dst, mask_and_dst, where_set);
  logic(kOr, mask_and_dst, mask_and_dst, rest);
}

void Avx2Body::product(VectorRegister dst, VectorRegister a, VectorRegister b) {
  is_wide() ? long_product(dst, a, b) : integers(k38, 0x40, dst, a, b);
}

// The product of the low halves, plus the cross products shifted into the upper half.
void Avx2Body::long_product(VectorRegister dst, VectorRegister a, VectorRegister b) {
  constexpr uint8_t kSwapHalves = 0xb1, kLowHalves = 0x55;
  VectorRegister crossed = scratch(), other = scratch();
  assembler().vector({k0F, k66, false, 0x70}, crossed.id, 0, b);
  assembler().immediate(kSwapHalves);
  assembler().vector({k38, k66, false, 0x40}, crossed.id, crossed.id, a);
  assembler().vector({k0F, k66, false, kShiftImmediate}, kShiftLeft, other.id, crossed);
  assembler().immediate(32);
  assembler().vector({k0F, k66, false, 0xfe}, crossed.id, crossed.id, other);
  logic(kXor, other, other, other);
  assembler().vector({k3A, k66, false, 0x02}, crossed.id, crossed.id, other);
  assembler().immediate(kLowHalves);
  assembler().vector({k0F, k66, false, 0xf4}, dst.id, a.id, b);
  sum(dst, dst, crossed);
}

void Avx2Body::absolute(VectorRegister dst, VectorRegister a) {
  if (!is_wide()) return integers(k38, 0x1e, dst, {0}, a);
  VectorRegister is_negative = scratch();
  greater(is_negative, zeros(), a);
  logic(kXor, dst, a, is_negative);
  difference(dst, dst, is_negative);
}

void Avx2Body::extreme(Extreme which, VectorRegister dst, VectorRegister a, VectorRegister b) {
  if (!is_wide()) return integers(k38, which == Extreme::Min ? 0x39 : 0x3d, dst, a, b);
  VectorRegister first_is_greater = scratch();
  greater(first_is_greater, a, b);
  MaskRegister mask = {first_is_greater.id};
  which == Extreme::Max ? blend(dst, mask, a, b) : blend(dst, mask, b, a);
}

void Avx2Body::compare_integers(MaskRegister dst, VectorRegister a, VectorRegister b, IntegerRelation relation) {
  VectorRegister to = {dst.id};
  auto equal = [&] { is_wide() ? integers(k38, 0x29, to, a, b) : integers(k0F, 0x76, to, a, b); };
  switch (relation) {
    case IntegerRelation::Equal:
      return equal();
    case IntegerRelation::NotEqual:
      equal();
      break;
    case IntegerRelation::Less:
      return greater(to, b, a);
    case IntegerRelation::GreaterEqual:
      greater(to, b, a);
      break;
    case IntegerRelation::Greater:
      return greater(to, a, b);
    case IntegerRelation::LessEqual:
      greater(to, a, b);
      break;
  }
  invert(dst, dst);
}

// 64-bit: the halves become parts of floats with fixed exponents, 2^52 + low and 2^84 + 2^63 + 2^32 high (with its sign
// bit flipped), exactly; their sum minus the offsets is rounded once.
void Avx2Body::integers_to_floats(VectorRegister dst, VectorRegister src) {
  if (!is_wide()) return assembler().vector({k0F, OpcodePrefix::None, false, 0x5b}, dst.id, 0, src);
  constexpr uint64_t kLow = 0x4330000000000000, kHigh = 0x4530000080000000, kBoth = 0x4530000080100000;
  constexpr uint8_t kLowHalves = 0x55, kAdd = 0x58, kSub = 0x5c;
  VectorRegister low = scratch(), bits = scratch();
  broadcast(bits, {.bits = kLow});
  assembler().vector({k3A, k66, false, 0x02}, low.id, bits.id, src);
  assembler().immediate(kLowHalves);
  assembler().vector({k0F, k66, false, kShiftImmediate}, kShiftRight, dst.id, src);
  assembler().immediate(32);
  broadcast(bits, {.bits = kHigh});
  logic(kXor, dst, dst, bits);
  broadcast(bits, {.bits = kBoth});
  floats(kSub, dst, dst, bits);
  floats(kAdd, dst, dst, low);
}

void Avx2Body::combine(MaskLogic which, MaskRegister dst, MaskRegister a, MaskRegister b) {
  constexpr uint8_t kCodes[] = {kAnd, kAndNot, kOr, kXor, kXor};
  logic(kCodes[static_cast<size_t>(which)], {dst.id}, {a.id}, {b.id});
  if (which == MaskLogic::Xnor) invert(dst, dst);
}

void Avx2Body::invert(MaskRegister dst, MaskRegister src) { logic(kXor, {dst.id}, {src.id}, ones()); }

void Avx2Body::sign_mask(MaskRegister dst, VectorRegister a) {
  if (is_wide()) return greater({dst.id}, zeros(), a);
  constexpr uint8_t kArithmeticRight = 4;
  assembler().vector({k0F, k66, false, 0x72}, kArithmeticRight, dst.id, a);
  assembler().immediate(31);
}

void Avx2Body::blend(VectorRegister dst, MaskRegister mask, VectorRegister where_set, VectorRegister where_clear) {
  assembler().vector({k3A, k66, false, static_cast<uint8_t>(is_wide() ? 0x4b : 0x4a)}, dst.id, where_clear.id,
                     where_set);
  assembler().immediate(static_cast<uint8_t>(mask.id << 4));
}

void Avx2Body::keep(VectorRegister dst, MaskRegister mask, VectorRegister src) { logic(kAnd, dst, {mask.id}, src); }

void Avx2Body::overwrite(VectorRegister dst, MaskRegister mask, VectorRegister src) { blend(dst, mask, src, dst); }

}  // namespace md
