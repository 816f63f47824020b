// A version-neutral instruction list per code object. Input: a code object. Output: Bytecode {instructions, exception
// table, live locals}, immutable, created once per code object.
#pragma once
#include "cpython/ref.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace md {

enum class Opcode : uint8_t {
#define MD_OPCODE(name, pops, pushes, traits) name,
#include "bytecode/opcodes.def"
#undef MD_OPCODE
};

// What is known of an opcode beside its effect on the stack.
enum OpcodeTrait : uint8_t {
  kNoTraits = 0,
  kHasTarget = 1 << 0,   // arg is a jump target
  kEndsFlow = 1 << 1,    // control never falls through to the next instruction
  kReadsSlot = 1 << 2,   // arg is a slot that it reads
  kWritesSlot = 1 << 3,  // arg is a slot that it overwrites
  kMoves = 1 << 4,       // only moves values: nothing to capture
};
bool has_trait(Opcode op, OpcodeTrait trait);

const char* opcode_name(Opcode op);

struct Instruction {
  Opcode op;
  // False for all but the first instruction of a split unit (a pair, LOAD_GLOBAL with NULL): the interpreter cannot
  // resume here; the driver must first execute up to a resumable instruction.
  bool resumable;
  int32_t arg = 0;
  int32_t arg2 = 0;
  int32_t unit;           // where the interpreter resumes: first EXTENDED_ARG or KW_NAMES of this instruction
  int32_t lasti;          // unit of the real opcode: f_lasti, line and column
  int32_t next_unit = 0;  // the unit after this instruction and its caches
};

struct ExceptionHandler {
  int32_t target;  // instruction index, -1 if there is none
  int32_t depth;   // stack depth to restore below (lasti,) exception
  bool push_lasti;
};

// A row of the exception table: covers instructions begin .. end-1.
struct HandlerRange {
  int32_t begin, end;
  ExceptionHandler handler;
};

// Stack order of a callable and its self (or NULL) below the arguments.
#if PY_VERSION_HEX >= 0x030D0000
inline constexpr bool kNullAfterCallable = true;  // callable, NULL or self
#else
inline constexpr bool kNullAfterCallable = false;  // NULL, callable or method, self
#endif

// CellLocal: an argument that MAKE_CELL turns into a cell.
enum class SlotKind : uint8_t { Local, CellLocal, Cell, Free };

class Bytecode {
 public:
  // Cached in co_extra; the result lives as long as the code object.
  static const Bytecode* of(PyCodeObject* code);
  // Reserves the co_extra index; called at import.
  static void reserve_place();
  explicit Bytecode(PyCodeObject* code);

  PyCodeObject* code() const { return code_; }  // borrowed: this object is freed with it
  const std::vector<Instruction>& instructions() const { return instructions_; }
  const Instruction& operator[](int index) const { return instructions_[index]; }
  int size() const { return static_cast<int>(instructions_.size()); }

  // Index of the first neutral instruction of the unit (or of the one that this prefix belongs to); -1 inside caches.
  int index_of_unit(int unit) const;
  // The handler that covers an instruction while it executes.
  ExceptionHandler handler_at(int index) const;
  const std::vector<HandlerRange>& handlers() const { return handlers_; }
  // Operand stack depth on entry to an instruction, -1 if unreachable.
  int depth_at(int index) const { return depths_[index]; }
  // Slots that may be read before being written on some path from here, including handlers. Cells and
  // free variables are always live.
  bool is_live(int index, int slot) const;
  // Whether it is the target of a back edge (a loop head).
  bool is_loop_head(int index) const { return loop_heads_[index]; }
  // From there on are only handlers, which the compiler has put behind all other code; size(): there are none.
  int cold_start() const { return cold_start_; }
  // Whether control goes straight from the instruction to a return, with nothing on the way to capture.
  bool only_returns(int index) const { return only_returns_[index]; }

  int slot_count() const { return static_cast<int>(slots_.size()); }  // co_nlocalsplus
  SlotKind slot_kind(int slot) const { return slots_[slot]; }
  BorrowedRef slot_name(int slot) const;
  BorrowedRef constant(int index) const;
  BorrowedRef name(int index) const;
  int line_at(int index) const;  // 1-based source line, 0 if none
  // Whether the code uses the names locals, vars, dir, eval, exec or breakpoint: then
  // every local must be set at an exit.
  bool observes_locals() const { return observes_locals_; }
  // One line per instruction, for logs and tests.
  std::string print() const;

 private:
  PyCodeObject* code_;
  std::vector<Instruction> instructions_;
  std::vector<int32_t> unit_to_index_;
  std::vector<Ref> extra_constants_;
  std::vector<int32_t> depths_;
  std::vector<bool> loop_heads_, only_returns_;
  int cold_start_ = 0;
  std::vector<SlotKind> slots_;
  std::vector<uint64_t> live_;  // one row of live_words_ words per instruction
  int live_words_ = 0;
  bool observes_locals_ = false;
  std::vector<HandlerRange> handlers_;
};

// Stack effect on fall-through, and on the jump where that differs (FOR_ITER, *_OR_POP, SEND).
struct StackEffect {
  int pops;
  int pushes;
};
StackEffect stack_effect(const Instruction& instruction, bool jump);

// With those of * and **.
int parameter_count(const PyCodeObject* code);

// Whether arg is a jump target.
inline bool has_target(Opcode op) { return has_trait(op, kHasTarget); }
// Whether control never falls through to the next instruction.
inline bool ends_flow(Opcode op) { return has_trait(op, kEndsFlow); }

}  // namespace md
