#include "machine_code/assembler.h"

namespace md {
namespace {

constexpr uint8_t id_of(WordRegister reg) { return static_cast<uint8_t>(reg); }
constexpr bool is_high(WordRegister reg) { return id_of(reg) >= 8; }
constexpr int kSib = 4, kRipRelative = 5;  // as the r/m field

int modrm(int mod, int reg, int rm) { return mod << 6 | (reg & 7) << 3 | (rm & 7); }

}  // namespace

void Assembler::word32(int64_t value) {
  for (int shift = 0; shift < 32; shift += 8) byte(static_cast<int>(value >> shift & 0xff));
}

void Assembler::set_word32(size_t at, int64_t value) {
  for (size_t i = 0; i < 4; ++i) code_[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

// x and b extend the r/m field: bits 4 and 3 of a vector register, or the index and base of a memory operand.
void Assembler::encode(VectorOpcode op, uint8_t reg, uint8_t vvvv, bool x, bool b, Predicate predicate,
                       VectorWidth width) {
  if (set_ == VectorSet::Avx2)
    return vex(op, reg, vvvv, x, b, width == VectorWidth::Widest ? VectorWidth::Bits256 : width);
  evex(op, reg, vvvv, x, b, predicate, width == VectorWidth::Widest ? VectorWidth::Bits512 : width);
}

void Assembler::vex(VectorOpcode op, uint8_t reg, uint8_t vvvv, bool x, bool b, VectorWidth width) {
  byte(0xc4);
  byte(((reg & 8) == 0 ? 0x80 : 0) | (x ? 0 : 0x40) | (b ? 0 : 0x20) | static_cast<int>(op.map));
  byte((op.w ? 0x80 : 0) | (~vvvv & 15) << 3 | static_cast<int>(width) << 2 | static_cast<int>(op.prefix));
  byte(op.code);
}

void Assembler::evex(VectorOpcode op, uint8_t reg, uint8_t vvvv, bool x, bool b, Predicate predicate,
                     VectorWidth width) {
  auto inverted = [](int bit, int shift) { return (bit == 0 ? 1 : 0) << shift; };
  byte(0x62);
  byte(inverted(reg & 8, 7) | inverted(x, 6) | inverted(b, 5) | inverted(reg & 16, 4) | static_cast<int>(op.map));
  byte((op.w ? 0x80 : 0) | (~vvvv & 15) << 3 | 4 | static_cast<int>(op.prefix));
  byte((predicate.zeroes ? 0x80 : 0) | static_cast<int>(width) << 5 | inverted(vvvv & 16, 3) | predicate.mask.id);
  byte(op.code);
}

void Assembler::vector(VectorOpcode op, uint8_t reg, uint8_t vvvv, VectorRegister rm, Predicate predicate,
                       VectorWidth width) {
  encode(op, reg, vvvv, (rm.id & 16) != 0, (rm.id & 8) != 0, predicate, width);
  byte(modrm(3, reg, rm.id));
}

void Assembler::vector(VectorOpcode op, uint8_t reg, uint8_t vvvv, const MemoryOperand& rm, Predicate predicate,
                       VectorWidth width) {
  encode(op, reg, vvvv, rm.index && is_high(*rm.index), is_high(rm.base), predicate, width);
  operand(reg, rm);
}

void Assembler::vector(VectorOpcode op, uint8_t reg, uint8_t vvvv, Literal rm) {
  encode(op, reg, vvvv, false, false, {}, VectorWidth::Widest);
  byte(modrm(0, reg, kRipRelative));
  literal_uses_.emplace_back(position(), rm.index);
  word32(0);
}

// Always a 32-bit displacement: the 8-bit form of EVEX is scaled by the operand size.
void Assembler::operand(uint8_t reg, const MemoryOperand& memory) {
  bool needs_displacement = memory.displacement != 0 || (id_of(memory.base) & 7) == kRipRelative;
  bool needs_sib = memory.index || (id_of(memory.base) & 7) == kSib;
  byte(modrm(needs_displacement ? 2 : 0, reg, needs_sib ? kSib : id_of(memory.base)));
  if (needs_sib) {
    int scale = memory.scale == 8 ? 3 : memory.scale == 4 ? 2 : 0;
    byte(modrm(scale, memory.index ? id_of(*memory.index) : id_of(WordRegister::rsp), id_of(memory.base)));
  }
  if (needs_displacement) word32(memory.displacement);
}

void Assembler::mask_operation(uint8_t code, MaskRegister dst, MaskRegister a, MaskRegister b) {
  byte(0xc5);
  byte(0x80 | (~a.id & 15) << 3 | 4);
  byte(code);
  byte(modrm(3, dst.id, b.id));
}

void Assembler::mask_not(MaskRegister dst, MaskRegister src) {
  byte(0xc5);
  byte(0xf8);
  byte(0x44);
  byte(modrm(3, dst.id, src.id));
}

// kortestw, kortestb
void Assembler::test_all_ones(MaskRegister a, MaskRegister b, int lanes) {
  byte(0xc5);
  byte(lanes == 8 ? 0xf9 : 0xf8);
  byte(0x98);
  byte(modrm(3, a.id, b.id));
}

void Assembler::mask_from(MaskRegister dst, WordRegister src) {
  byte(0xc5);
  byte(0xf8);
  byte(0x92);
  byte(modrm(3, dst.id, id_of(src)));
}

void Assembler::load(WordRegister dst, const MemoryOperand& src) {
  byte(0x48 | (is_high(dst) ? 4 : 0) | (src.index && is_high(*src.index) ? 2 : 0) | (is_high(src.base) ? 1 : 0));
  byte(0x8b);
  operand(id_of(dst), src);
}

void Assembler::byte_operation(uint8_t code, WordRegister reg, const MemoryOperand& memory) {
  byte(0x40 | (is_high(reg) ? 4 : 0) | (memory.index && is_high(*memory.index) ? 2 : 0) |
       (is_high(memory.base) ? 1 : 0));
  byte(code);
  operand(id_of(reg), memory);
}

void Assembler::load_byte(WordRegister dst, const MemoryOperand& src) { byte_operation(0x8a, dst, src); }
void Assembler::store_byte(WordRegister src, const MemoryOperand& dst) { byte_operation(0x88, src, dst); }

void Assembler::shift(uint8_t code, WordRegister dst, uint8_t bits) {
  byte(0x48 | (is_high(dst) ? 1 : 0));
  byte(0xc1);
  byte(modrm(3, code, id_of(dst)));
  byte(bits);
}

void Assembler::prefetch(const MemoryOperand& src) {
  uint8_t rex = (src.index && is_high(*src.index) ? 2 : 0) | (is_high(src.base) ? 1 : 0);
  if (rex != 0) byte(0x40 | rex);
  byte(0x0f);
  byte(0x18);
  operand(1, src);
}

void Assembler::word_operation(uint8_t code, WordRegister reg, WordRegister rm) {
  byte(0x48 | (is_high(reg) ? 4 : 0) | (is_high(rm) ? 1 : 0));
  byte(code);
  byte(modrm(3, id_of(reg), id_of(rm)));
}

void Assembler::move(WordRegister dst, WordRegister src) { word_operation(0x89, src, dst); }
void Assembler::subtract(WordRegister dst, WordRegister value) { word_operation(0x29, value, dst); }
void Assembler::compare(WordRegister a, WordRegister b) { word_operation(0x39, b, a); }
void Assembler::clear(WordRegister dst) { word_operation(0x31, dst, dst); }

void Assembler::add(WordRegister dst, int32_t value) {
  byte(0x48 | (is_high(dst) ? 1 : 0));
  byte(0x81);
  byte(modrm(3, 0, id_of(dst)));
  word32(value);
}

void Assembler::fill(WordRegister dst) {
  if (is_high(dst)) byte(0x41);
  byte(0xb8 | (id_of(dst) & 7));
  word32(-1);
}

// bzhi
void Assembler::keep_low_bits(WordRegister dst, WordRegister count) {
  byte(0xc4);
  byte((is_high(dst) ? 0x40 : 0xc0) | (is_high(dst) ? 0 : 0x20) | 2);
  byte((~id_of(count) & 15) << 3);
  byte(0xf5);
  byte(modrm(3, id_of(dst), id_of(dst)));
}

void Assembler::push(WordRegister value) {
  if (is_high(value)) byte(0x41);
  byte(0x50 | (id_of(value) & 7));
}

void Assembler::pop(WordRegister value) {
  if (is_high(value)) byte(0x41);
  byte(0x58 | (id_of(value) & 7));
}

void Assembler::clear_upper_halves() {
  byte(0xc5);
  byte(0xf8);
  byte(0x77);
}

Assembler::Jump Assembler::jump_if(Condition condition) {
  byte(0x0f);
  byte(0x80 | static_cast<int>(condition));
  word32(0);
  return position();
}

void Assembler::jump_back_if(Condition condition, size_t target) {
  Jump jump = jump_if(condition);
  set_word32(jump - 4, static_cast<int64_t>(target) - static_cast<int64_t>(jump));
}

void Assembler::bind(Jump jump) { set_word32(jump - 4, static_cast<int64_t>(position()) - static_cast<int64_t>(jump)); }

Literal Assembler::literal(uint64_t bits) {
  for (size_t i = 0; i < literals_.size(); ++i) {
    if (literals_[i] == bits) return {i};
  }
  literals_.push_back(bits);
  return {literals_.size() - 1};
}

void Assembler::align(size_t to) {
  while (position() % to != 0) byte(0xcc);
}

void Assembler::place_literals() {
  align(sizeof(uint64_t));
  size_t start = position();
  for (uint64_t bits : literals_) {
    word32(static_cast<int64_t>(bits & 0xffffffff));
    word32(static_cast<int64_t>(bits >> 32));
  }
  // Relative to the end of the four bytes: no instruction with a literal operand has an immediate.
  for (auto [at, index] : literal_uses_) {
    set_word32(at, static_cast<int64_t>(start + index * sizeof(uint64_t)) - static_cast<int64_t>(at + 4));
  }
  literals_.clear();
  literal_uses_.clear();
}

}  // namespace md
