#include "machine_code/avx512_body.h"

namespace md {
namespace {

constexpr uint8_t kLoad = 0x10, kStore = 0x11;

}  // namespace

void Avx512Body::make_tail_mask(WordRegister count) {
  assembler().fill(kScratchPointer);
  assembler().keep_low_bits(kScratchPointer, count);
  assembler().mask_from(tail_mask(), kScratchPointer);
}

void Avx512Body::load_vector(VectorRegister to, const MemoryOperand& memory) {
  if (is_tail()) repeat_first(to, memory);
  assembler().vector({OpcodeMap::Map0F, float_prefix(), is_wide(), kLoad}, to.id, 0, memory, masked());
}

void Avx512Body::store_vector(VectorRegister from, const MemoryOperand& memory) {
  assembler().vector({OpcodeMap::Map0F, float_prefix(), is_wide(), kStore}, from.id, 0, memory, masked());
}

// Loads one byte per lane.
void Avx512Body::load_mask(MaskRegister to, const MemoryOperand& memory) {
  VectorRegister bytes = scratch();
  if (is_wide() && !is_tail()) {
    assembler().vector({OpcodeMap::Map0F, OpcodePrefix::PF3, true, 0x7e}, bytes.id, 0, memory, {},
                       VectorWidth::Bits128);
  } else {
    if (is_tail())
      assembler().vector({OpcodeMap::Map0F38, OpcodePrefix::P66, false, 0x78}, bytes.id, 0, memory, {},
                         VectorWidth::Bits128);
    assembler().vector({OpcodeMap::Map0F, OpcodePrefix::PF2, false, 0x6f}, bytes.id, 0, memory, masked(),
                       VectorWidth::Bits128);
  }
  assembler().vector({OpcodeMap::Map0F38, OpcodePrefix::P66, false, 0x26}, to.id, bytes.id, bytes, {},
                     VectorWidth::Bits128);
}

void Avx512Body::store_mask(MaskRegister from, const MemoryOperand& memory) {
  // Also works on a register of 4- or 8-byte elements: all that matters is that each byte is 1.
  VectorRegister ones = constant_bits(is_wide() ? 0x0101010101010101 : 0x01010101);
  VectorRegister bytes = scratch();
  assembler().vector({OpcodeMap::Map0F, OpcodePrefix::PF2, false, 0x6f}, bytes.id, 0, ones, {from, true},
                     VectorWidth::Bits128);
  if (is_wide() && !is_tail()) {
    assembler().vector({OpcodeMap::Map0F, OpcodePrefix::P66, true, 0xd6}, bytes.id, 0, memory, {},
                       VectorWidth::Bits128);
  } else {
    assembler().vector({OpcodeMap::Map0F, OpcodePrefix::PF2, false, 0x7f}, bytes.id, 0, memory, masked(),
                       VectorWidth::Bits128);
  }
}

void Avx512Body::choose_bits(VectorRegister mask_and_dst, VectorRegister where_set, VectorRegister where_clear) {
  constexpr uint8_t kFirstChooses = 0xca;
  assembler().vector({OpcodeMap::Map0F3A, OpcodePrefix::P66, is_wide(), 0x25}, mask_and_dst.id, where_set.id,
                     where_clear);
  assembler().immediate(kFirstChooses);
}

void Avx512Body::product(VectorRegister dst, VectorRegister a, VectorRegister b) {
  integers(OpcodeMap::Map0F38, 0x40, dst, a, b);
}

void Avx512Body::absolute(VectorRegister dst, VectorRegister a) {
  integers(OpcodeMap::Map0F38, is_wide() ? 0x1f : 0x1e, dst, {0}, a);
}

void Avx512Body::extreme(Extreme which, VectorRegister dst, VectorRegister a, VectorRegister b) {
  integers(OpcodeMap::Map0F38, which == Extreme::Min ? 0x39 : 0x3d, dst, a, b);
}

void Avx512Body::compare_integers(MaskRegister dst, VectorRegister a, VectorRegister b, IntegerRelation relation) {
  assembler().vector({OpcodeMap::Map0F3A, OpcodePrefix::P66, is_wide(), 0x1f}, dst.id, a.id, b);
  assembler().immediate(static_cast<uint8_t>(relation));
}

void Avx512Body::integers_to_floats(VectorRegister dst, VectorRegister src) {
  OpcodePrefix prefix = is_wide() ? OpcodePrefix::PF3 : OpcodePrefix::None;
  assembler().vector({OpcodeMap::Map0F, prefix, is_wide(), static_cast<uint8_t>(is_wide() ? 0xe6 : 0x5b)}, dst.id, 0,
                     src);
}

void Avx512Body::combine(MaskLogic logic, MaskRegister dst, MaskRegister a, MaskRegister b) {
  constexpr uint8_t kCodes[] = {0x41, 0x42, 0x45, 0x46, 0x47};
  assembler().mask_operation(kCodes[static_cast<size_t>(logic)], dst, a, b);
}

void Avx512Body::invert(MaskRegister dst, MaskRegister src) { assembler().mask_not(dst, src); }

void Avx512Body::sign_mask(MaskRegister dst, VectorRegister a) {
  assembler().vector({OpcodeMap::Map0F38, OpcodePrefix::PF3, is_wide(), 0x39}, dst.id, 0, a);
}

void Avx512Body::blend(VectorRegister dst, MaskRegister mask, VectorRegister where_set, VectorRegister where_clear) {
  assembler().vector({OpcodeMap::Map0F38, OpcodePrefix::P66, is_wide(), 0x65}, dst.id, where_clear.id, where_set,
                     {mask, false});
}

void Avx512Body::keep(VectorRegister dst, MaskRegister mask, VectorRegister src) { move_under(dst, src, {mask, true}); }

void Avx512Body::overwrite(VectorRegister dst, MaskRegister mask, VectorRegister src) {
  move_under(dst, src, {mask, false});
}

void Avx512Body::move_under(VectorRegister dst, VectorRegister src, Predicate predicate) {
  constexpr uint8_t kMoveAligned = 0x28;
  assembler().vector({OpcodeMap::Map0F, float_prefix(), is_wide(), kMoveAligned}, dst.id, 0, src, predicate);
}

}  // namespace md
