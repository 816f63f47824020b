// The body of a loop of machine code, one vector of elements at a time: which value is in which register.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "machine_code/assembler.h"
#include "machine_code/pointwise_code.h"

namespace md {

// Values for every element that stay in a register, or are read again at each use when there are too many.
struct CodeConstant {
  int loop_register = -1;  // one element of the caller's,
  uint64_t bits = 0;       // or this one
  int of_divisor = 0;      // 1 to 3: what is made of the element, in the order of DivisorRegisters
  bool operator==(const CodeConstant&) const = default;
};

// What the parts of one loop agree on.
struct LoopFrame {
  bool is_wide = false;  // elements of 8 bytes, not 4
  std::vector<CodeConstant> constants = {};
  std::vector<int> pointers = {};  // loop registers whose addresses are in word registers
  std::span<const CodePlace> places = {};
  int lanes() const { return is_wide ? 8 : 16; }
  int element_size() const { return is_wide ? 8 : 4; }
};

inline constexpr size_t kHeldConstants = 12;
inline constexpr MaskRegister kTailMask = {7};
inline constexpr WordRegister kRegisters = WordRegister::rdi, kCount = WordRegister::rsi, kIndex = WordRegister::rax,
                              kLimit = WordRegister::rdx, kHead = WordRegister::rdx,
                              kScratchPointer = WordRegister::rcx;
// r8 and so on are the caller's to lose; the rest must be saved.
inline constexpr WordRegister kPointers[] = {WordRegister::r8,  WordRegister::r9,  WordRegister::r10, WordRegister::r11,
                                             WordRegister::rbx, WordRegister::rbp, WordRegister::r12, WordRegister::r13,
                                             WordRegister::r14, WordRegister::r15};
inline constexpr size_t kPointerCount = std::size(kPointers), kFreePointers = 4;
VectorRegister constant_register(size_t index);
void broadcast(Assembler& assembler, VectorRegister to, const CodeConstant& constant, bool is_wide);

// What quotients by one number need: see one_divisor.h. All but the divisor are made before the loop.
struct DivisorRegisters {
  VectorRegister divisor;
  VectorRegister reciprocal, rest;  // 1 / divisor rounded, and what that leaves out
  VectorRegister limit;             // how far magnitudes may be above the least; 0: this divisor is divided by
};

class VectorBody {
 public:
  VectorBody(Assembler& assembler, LoopFrame& frame, bool is_tail)
      : assembler_(assembler), frame_(frame), is_tail_(is_tail) {}

  // False when an instruction finds no register; `done` are complete.
  bool emit(std::span<const CodeInstruction> instructions, int first, size_t& done);

  // For recipes. A register that is made here is free again after the instruction.
  bool is_wide() const { return frame_.is_wide; }
  int lanes() const { return frame_.lanes(); }
  VectorRegister scratch();
  MaskRegister scratch_mask();
  VectorRegister constant(double value);        // as a float of the element's size
  VectorRegister constant_bits(uint64_t bits);  // of the element's size
  // Of one element of the caller's; nothing where there are too few registers.
  std::optional<DivisorRegisters> divisor(int loop_register);
  VectorRegister sign_bit() { return constant_bits(is_wide() ? uint64_t{1} << 63 : uint64_t{1} << 31); }
  VectorRegister rest_bits() { return constant_bits(is_wide() ? ~(uint64_t{1} << 63) : 0x7fffffff); }

  void floats(uint8_t code, VectorRegister dst, VectorRegister a, VectorRegister b);
  void multiply_add(uint8_t code, VectorRegister sum, VectorRegister a, VectorRegister b);
  void round(VectorRegister dst, VectorRegister a, uint8_t mode);
  void logic(uint8_t code, VectorRegister dst, VectorRegister a, VectorRegister b);
  void choose_bits(VectorRegister mask_and_dst, VectorRegister where_set, VectorRegister where_clear);
  void integers(OpcodeMap map, uint8_t code, VectorRegister dst, VectorRegister a, VectorRegister b);
  void compare_floats(MaskRegister dst, VectorRegister a, VectorRegister b, uint8_t relation);
  void compare_integers(MaskRegister dst, VectorRegister a, VectorRegister b, uint8_t relation);
  void sign_mask(MaskRegister dst, VectorRegister a);
  void blend(VectorRegister dst, MaskRegister mask, VectorRegister where_set, VectorRegister where_clear);
  void keep(VectorRegister dst, MaskRegister mask, VectorRegister src);       // zero elsewhere
  void overwrite(VectorRegister dst, MaskRegister mask, VectorRegister src);  // dst elsewhere
  void move(VectorRegister dst, VectorRegister src);
  void integers_to_floats(VectorRegister dst, VectorRegister src);
  Assembler& assembler() { return assembler_; }

 private:
  struct Held {
    enum Kind : uint8_t { Nowhere, Vector, Mask } kind = Nowhere;
    uint8_t id = 0;
    bool is_loaded = false;  // memory has it, too
  };

  void emit_one(const CodeInstruction& instruction);
  Held operand(const CodeInstruction& instruction, int i);
  Held hold(int loop_register, bool is_mask);
  void load(int loop_register, Held to);
  void store(int loop_register, Held from);
  MemoryOperand address(int loop_register, int element_size);
  VectorRegister constant(const CodeConstant& constant);
  uint8_t take_vector();
  uint8_t take_mask();
  void release(Held held);
  bool evict();
  void note_uses(std::span<const CodeInstruction> instructions);

  Assembler& assembler_;
  LoopFrame& frame_;
  bool is_tail_;
  std::array<Held, kMaxCodeRegisters> held_ = {};
  std::array<int, kMaxCodeRegisters> last_use_ = {};
  std::vector<Held> scratch_;
  std::vector<int> in_use_;  // loop registers that the instruction at hand reads or writes
  uint32_t free_vectors_ = (uint32_t{1} << (32 - kHeldConstants)) - 1;
  uint8_t free_masks_ = 0x7e;
  int at_ = 0;
  bool failed_ = false;
};

}  // namespace md
