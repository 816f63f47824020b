// Encodes the x86-64 instructions with AVX2 or AVX-512 that elementwise loops need. Source: Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2, sections 2.3 (VEX) and 2.7 (EVEX).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace md {

// Register sets: 16 registers of 32 bytes, with masks as vectors of ones and zeros, or 32 of
// 64 bytes and 8 mask registers.
enum class VectorSet : uint8_t { Avx2, Avx512 };
constexpr int vector_bytes(VectorSet set) { return set == VectorSet::Avx512 ? 64 : 32; }

struct VectorRegister {
  uint8_t id;  // ymm0 to ymm15, or zmm0 to zmm31
};
struct MaskRegister {
  uint8_t id;  // ymm0 to ymm15, or k0 to k7; k0 as a predicate means unmasked
};
enum class WordRegister : uint8_t { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15 };

// base + index * scale + displacement.
struct MemoryOperand {
  WordRegister base;
  std::optional<WordRegister> index = {};
  int scale = 1;  // 1, 4 or 8
  int32_t displacement = 0;
};

// A constant placed after the code.
struct Literal {
  size_t index;
};

enum class OpcodeMap : uint8_t { Map0F = 1, Map0F38 = 2, Map0F3A = 3 };
enum class OpcodePrefix : uint8_t { None, P66, PF3, PF2 };

struct VectorOpcode {
  OpcodeMap map;
  OpcodePrefix prefix;
  bool w;  // 64-bit operands
  uint8_t code;
};

// Write mask of an AVX-512 instruction; the other elements keep their value or become zero.
struct Predicate {
  MaskRegister mask = {0};
  bool zeroes = false;
};

enum class VectorWidth : uint8_t { Bits128 = 0, Bits256 = 1, Bits512 = 2, Widest };

class Assembler {
 public:
  explicit Assembler(VectorSet set) : set_(set) {}
  VectorSet vector_set() const { return set_; }

  // op reg, vvvv, rm. Instructions with two operands use vvvv = register 0.
  void vector(VectorOpcode op, uint8_t reg, uint8_t vvvv, VectorRegister rm, Predicate predicate = {},
              VectorWidth width = VectorWidth::Widest);
  void vector(VectorOpcode op, uint8_t reg, uint8_t vvvv, const MemoryOperand& rm, Predicate predicate = {},
              VectorWidth width = VectorWidth::Widest);
  void vector(VectorOpcode op, uint8_t reg, uint8_t vvvv, Literal rm);
  void immediate(uint8_t value) { byte(value); }  // last operand of the preceding instruction

  // On AVX-512 masks, 16 bits of each.
  void mask_operation(uint8_t code, MaskRegister dst, MaskRegister a, MaskRegister b);
  void mask_not(MaskRegister dst, MaskRegister src);
  // Sets Carry if (a | b) is one in each of the 8 or 16 lanes.
  void test_all_ones(MaskRegister a, MaskRegister b, int lanes);
  void mask_from(MaskRegister dst, WordRegister src);  // rax to rdi
  // The first 64 bits, from rax to rdi.
  void vector_from(VectorRegister dst, WordRegister src) { vector(kMoveIn, dst.id, 0, as_vector(src), {}, kFirst); }
  void word_from(WordRegister dst, VectorRegister src) { vector(kMoveOut, src.id, 0, as_vector(dst), {}, kFirst); }
  // The sign bit of each element, into rax to rdi. AVX2.
  void signs_from(WordRegister dst, VectorRegister src, bool is_wide) {
    OpcodePrefix prefix = is_wide ? OpcodePrefix::P66 : OpcodePrefix::None;
    vector({OpcodeMap::Map0F, prefix, false, 0x50}, static_cast<uint8_t>(dst), 0, src);
  }

  void load(WordRegister dst, const MemoryOperand& src);
  void load_byte(WordRegister dst, const MemoryOperand& src);  // keeps the other bytes of dst
  void store_byte(WordRegister src, const MemoryOperand& dst);
  void shift_left(WordRegister dst, uint8_t bits) { shift(4, dst, bits); }
  void shift_right(WordRegister dst, uint8_t bits) { shift(5, dst, bits); }
  void prefetch(const MemoryOperand& src);  // prefetcht0
  void move(WordRegister dst, WordRegister src);
  void add(WordRegister dst, int32_t value);
  void subtract(WordRegister dst, WordRegister value);
  void compare(WordRegister a, WordRegister b);
  void clear(WordRegister dst);
  void fill(WordRegister dst);                               // with ones, 32 bits
  void keep_low_bits(WordRegister dst, WordRegister count);  // 32 bits
  void push(WordRegister value);
  void pop(WordRegister value);
  void clear_upper_halves();  // vzeroupper
  void ret() { byte(0xc3); }

  // Jumps: forward jumps are bound later.
  enum class Condition : uint8_t { Carry = 0x2, Equal = 0x4, Less = 0xc, LessOrEqual = 0xe, Greater = 0xf };
  using Jump = size_t;
  Jump jump_if(Condition condition);
  void jump_back_if(Condition condition, size_t target);
  void bind(Jump jump);  // to the current position

  Literal literal(uint64_t bits);
  size_t position() const { return code_.size(); }
  void align(size_t to);
  void place_literals();  // after the code of one function
  const std::vector<uint8_t>& code() const { return code_; }

 private:
  void byte(int value) { code_.push_back(static_cast<uint8_t>(value)); }
  void word32(int64_t value);
  void set_word32(size_t at, int64_t value);
  void encode(VectorOpcode op, uint8_t reg, uint8_t vvvv, bool x, bool b, Predicate predicate, VectorWidth width);
  void vex(VectorOpcode op, uint8_t reg, uint8_t vvvv, bool x, bool b, VectorWidth width);
  void evex(VectorOpcode op, uint8_t reg, uint8_t vvvv, bool x, bool b, Predicate predicate, VectorWidth width);
  void operand(uint8_t reg, const MemoryOperand& memory);
  void word_operation(uint8_t code, WordRegister reg, WordRegister rm);
  void byte_operation(uint8_t code, WordRegister reg, const MemoryOperand& memory);
  void shift(uint8_t code, WordRegister dst, uint8_t bits);

  static constexpr VectorOpcode kMoveIn = {OpcodeMap::Map0F, OpcodePrefix::P66, true, 0x6e},
                                kMoveOut = {OpcodeMap::Map0F, OpcodePrefix::P66, true, 0x7e};
  static constexpr VectorWidth kFirst = VectorWidth::Bits128;
  static constexpr VectorRegister as_vector(WordRegister reg) { return {static_cast<uint8_t>(reg)}; }

  VectorSet set_;
  std::vector<uint8_t> code_;
  std::vector<uint64_t> literals_;
  std::vector<std::pair<size_t, size_t>> literal_uses_;  // position in the code, index
};

}  // namespace md
