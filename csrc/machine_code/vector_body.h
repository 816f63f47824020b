// Body of a machine code loop, one vector of elements at a time: register allocation.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "machine_code/assembler.h"
#include "machine_code/pointwise_code.h"

namespace md {

// Broadcast values that stay in a register, or are reloaded at each use if there are too many.
struct CodeConstant {
  int loop_register = -1;  // a single element in caller memory,
  uint64_t bits = 0;       // or these bits
  int of_divisor = 0;      // 1 to 3: derived from the element, in the order of DivisorRegisters
  bool operator==(const CodeConstant&) const = default;
};

// Shared by all parts of one loop.
struct LoopFrame {
  VectorSet set;
  bool is_wide = false;        // 8-byte elements, not 4-byte
  bool wants_divisor = false;  // division by one number uses a reciprocal, which needs more constants
  std::span<const CodePlace> places = {};
  std::vector<CodeConstant> constants = {};  // kept in registers, the last ones of the set
  bool divides = false;                      // contains a division by one number
  std::vector<int> pointers = {};            // loop registers whose addresses are in word registers
  SumPlace sum = {};                         // kept in registers: sum_vectors in all, currently sum_vector
  int sum_vectors = 0, sum_vector = 0;
  bool has_mask_registers() const { return set == VectorSet::Avx512; }
  int vector_count() const { return has_mask_registers() ? 32 : 16; }
  size_t most_constants() const { return has_mask_registers() ? 12 : wants_divisor ? 6 : 4; }
  VectorRegister constant_register(size_t index) const {
    return {static_cast<uint8_t>(vector_count() - 1 - static_cast<int>(index))};
  }
  VectorRegister sum_register(int vector) const {
    return {static_cast<uint8_t>(vector_count() - 1 - static_cast<int>(most_constants()) - vector)};
  }
  MaskRegister tail_mask() const {
    return {has_mask_registers() ? uint8_t{7} : constant_register(most_constants()).id};
  }
  int lanes() const { return vector_bytes(set) / element_size(); }
  int element_size() const { return is_wide ? 8 : 4; }
};

inline constexpr WordRegister kRegisters = WordRegister::rdi, kCount = WordRegister::rsi, kIndex = WordRegister::rax,
                              kLimit = WordRegister::rdx, kHead = WordRegister::rdx,
                              kScratchPointer = WordRegister::rcx;
// Under the mask of a head or a tail: one past the last element.
inline constexpr WordRegister kEnd = WordRegister::rdx;
// The first kFreePointers, r8 to r11, are caller-saved; the others are callee-saved.
inline constexpr WordRegister kPointers[] = {WordRegister::r8,  WordRegister::r9,  WordRegister::r10, WordRegister::r11,
                                             WordRegister::rbx, WordRegister::rbp, WordRegister::r12, WordRegister::r13,
                                             WordRegister::r14, WordRegister::r15};
inline constexpr size_t kPointerCount = std::size(kPointers), kFreePointers = 4;

// Registers for division by one number: see one_divisor.h. All but the divisor are computed before the loop.
struct DivisorRegisters {
  VectorRegister divisor;
  VectorRegister reciprocal, rest;  // 1 / divisor rounded, and its residual
  VectorRegister limit;  // largest distance of a magnitude from the least one; if none is below it, the loop divides
};

enum class MaskLogic : uint8_t { And, AndNot, Or, Xnor, Xor };  // AndNot: (not first) and second

// Quiet comparisons: false if an operand is NaN, except NotEqual.
enum class FloatRelation : uint8_t {
  Equal = 0,
  Unordered = 3,
  NotEqual = 4,
  Less = 0x11,
  LessEqual = 0x12,
  GreaterEqual = 0x1d,
  Greater = 0x1e
};
enum class IntegerRelation : uint8_t {
  Equal = 0,
  Less = 1,
  LessEqual = 2,
  NotEqual = 4,
  GreaterEqual = 5,
  Greater = 6
};
enum class Extreme : uint8_t { Min, Max };

// Tracks which register holds which value; instructions that differ between the vector sets are in subclasses.
class VectorBody {
 public:
  // For the frame's vector set. is_tail: all accesses are masked.
  static std::unique_ptr<VectorBody> create(Assembler& assembler, LoopFrame& frame, bool is_tail);
  virtual ~VectorBody() = default;
  VectorBody(const VectorBody&) = delete;
  VectorBody& operator=(const VectorBody&) = delete;

  // Returns false if an instruction finds no free register; the first `done` instructions are complete.
  bool emit(std::span<const CodeInstruction> instructions, int first, size_t& done);
  // Masks the elements from kIndex to kEnd, `count` of them. Clobbers kScratchPointer and vector 0.
  virtual void make_tail_mask(WordRegister count) = 0;
  void broadcast(VectorRegister to, const CodeConstant& constant);  // clobbers kScratchPointer
  // Loads all vectors of the frame's sum from the address in kScratchPointer.
  void load_sum();
  void store_sum();

  // For emitters. Registers allocated here are freed after the instruction.
  bool is_wide() const { return frame_.is_wide; }
  bool has_mask_registers() const { return frame_.has_mask_registers(); }
  int lanes() const { return frame_.lanes(); }
  VectorRegister scratch();
  MaskRegister scratch_mask();
  VectorRegister constant(double value);        // as a float of the element size
  VectorRegister constant_bits(uint64_t bits);  // of the element size
  // For a single element in caller memory; nullopt if registers are short or a division is as fast.
  std::optional<DivisorRegisters> divisor(int loop_register);
  VectorRegister sign_bit() { return constant_bits(is_wide() ? uint64_t{1} << 63 : uint64_t{1} << 31); }
  VectorRegister rest_bits() { return constant_bits(is_wide() ? ~(uint64_t{1} << 63) : 0x7fffffff); }

  void floats(uint8_t code, VectorRegister dst, VectorRegister a, VectorRegister b);
  void multiply_add(uint8_t code, VectorRegister sum, VectorRegister a, VectorRegister b);
  void round(VectorRegister dst, VectorRegister a, uint8_t mode);
  void logic(uint8_t code, VectorRegister dst, VectorRegister a, VectorRegister b);
  void integers(OpcodeMap map, uint8_t code, VectorRegister dst, VectorRegister a, VectorRegister b);
  void sum(VectorRegister dst, VectorRegister a, VectorRegister b);         // of integers
  void difference(VectorRegister dst, VectorRegister a, VectorRegister b);  // of integers
  void compare_floats(MaskRegister dst, VectorRegister a, VectorRegister b, FloatRelation relation);
  void move(VectorRegister dst, VectorRegister src);
  Assembler& assembler() { return assembler_; }

  virtual void choose_bits(VectorRegister mask_and_dst, VectorRegister where_set, VectorRegister where_clear) = 0;
  // Of integers: dst may alias an operand of a product or an extreme, but of nothing else.
  virtual void product(VectorRegister dst, VectorRegister a, VectorRegister b) = 0;
  virtual void extreme(Extreme which, VectorRegister dst, VectorRegister a, VectorRegister b) = 0;
  virtual void absolute(VectorRegister dst, VectorRegister a) = 0;
  virtual void compare_integers(MaskRegister dst, VectorRegister a, VectorRegister b, IntegerRelation relation) = 0;
  virtual void integers_to_floats(VectorRegister dst, VectorRegister src) = 0;
  virtual void combine(MaskLogic logic, MaskRegister dst, MaskRegister a, MaskRegister b) = 0;
  virtual void invert(MaskRegister dst, MaskRegister src) = 0;
  virtual void sign_mask(MaskRegister dst, VectorRegister a) = 0;
  virtual void blend(VectorRegister dst, MaskRegister mask, VectorRegister where_set, VectorRegister where_clear) = 0;
  virtual void keep(VectorRegister dst, MaskRegister mask, VectorRegister src) = 0;       // zero elsewhere
  virtual void overwrite(VectorRegister dst, MaskRegister mask, VectorRegister src) = 0;  // dst elsewhere

 protected:
  VectorBody(Assembler& assembler, LoopFrame& frame, bool is_tail);
  bool is_tail() const { return is_tail_; }
  MaskRegister tail_mask() const { return frame_.tail_mask(); }
  // What a tail leaves out computes what its first element does: no floating-point exception is raised that no element
  // raises.
  void repeat_first(VectorRegister to, const MemoryOperand& memory);
  OpcodePrefix float_prefix() const { return is_wide() ? OpcodePrefix::P66 : OpcodePrefix::None; }

 private:
  struct Held {
    enum Kind : uint8_t { Nowhere, Vector, Mask } kind = Nowhere;
    uint8_t id = 0;
    bool is_loaded = false;  // memory also holds it
  };

  // Between memory and registers, masked in a tail. Bools are bytes.
  virtual void load_vector(VectorRegister to, const MemoryOperand& memory) = 0;
  virtual void store_vector(VectorRegister from, const MemoryOperand& memory) = 0;
  virtual void load_mask(MaskRegister to, const MemoryOperand& memory) = 0;
  virtual void store_mask(MaskRegister from, const MemoryOperand& memory) = 0;

  VectorOpcode broadcast_opcode() const;
  void emit_one(const CodeInstruction& instruction);
  Held operand(const CodeInstruction& instruction, int i);
  Held hold(int loop_register, bool is_mask);
  bool is_sum(int loop_register) const;
  Held held_sum() const;
  void load(int loop_register, Held to);
  void store(int loop_register, Held from);
  MemoryOperand address(int loop_register, int element_size);
  VectorRegister constant(const CodeConstant& constant);
  uint8_t take_vector();
  uint8_t take_mask();
  void release(Held held);
  bool is_vector(Held held) const;  // whether it occupies a vector register
  bool evict();
  void note_uses(std::span<const CodeInstruction> instructions);

  Assembler& assembler_;
  LoopFrame& frame_;
  bool is_tail_;
  std::array<Held, kMaxCodeRegisters> held_ = {};
  std::array<int, kMaxCodeRegisters> last_use_ = {};
  std::vector<Held> scratch_;
  std::vector<int> in_use_;  // loop registers that the current instruction reads or writes
  uint32_t free_vectors_;
  uint8_t free_masks_;
  int at_ = 0;
  bool failed_ = false;
};

}  // namespace md
