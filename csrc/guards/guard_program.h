// Guards as flat code: each source is fetched once into a register, checks read registers.
#pragma once
#include <span>
#include <vector>

#include "guards/guard.h"

namespace md {

// The checks of guard_kinds.def, and the steps between them.
enum class GuardOp : uint8_t {
#define MD_GUARD(name, doc) name,
#include "guards/guard_kinds.def"
#undef MD_GUARD
  Fetch,
  Nothing,  // only loads its slot
};

inline constexpr uint32_t kNoRegister = UINT32_MAX;

// What a look-up by name found last, and in which version of which dict or type: while that stands, it need not be done again.
// Written by checks, under the GIL; the object is borrowed from the dict or type, which holds it in this version.
struct LookupMemo {
  uint64_t version = 0;  // 0: nothing is known
  PyObject* object = nullptr;
};

// The dict that a look-up goes to, seen from the base that it is made on; of a type that and those of its bases.
enum class LookupDict : uint8_t { None, Base, Attributes, Globals, Builtins, Module, Type };

// An instruction may first load one slot into a register: nearly every check on an argument is then one instruction.
struct GuardInstruction {
  GuardOp op;
  LookupDict lookup;       // of a Fetch, an ABSENT or a DICT_KEYS
  uint32_t target;         // register: written by Fetch, read by a check
  uint32_t other;          // register of a fetch's base, or the second one of ALIAS
  int32_t guard;           // index of the guard that a check belongs to, -1: none
  int32_t slot;            // -1: no load
  uint32_t slot_register;  // where the slot goes
  union {
    const Guard* operand;
    const Source* source;
    PyObject* const* cell;
    Py_ssize_t number;
  };
  mutable LookupMemo memo;
};

class GuardProgram {
 public:
  // The guards, sorted, stay where they are as long as the program lives.
  void compile(const std::vector<Guard*>& guards);

  // All instructions, with registers that the caller has room for: register_count() of them.
  bool check(const LocalsView& view, PyObject** registers) const { return run(view, registers) < 0; }
  // One after the other; the registers that they read and do not load are set.
  static bool check(std::span<const GuardInstruction> instructions, const LocalsView& view, PyObject** registers);
  bool has_fetches() const { return has_fetches_; }
  uint32_t register_count() const { return register_count_; }
  // kNoRegister: no guard stands on the source or on what is reached from it.
  uint32_t register_of(const Source* source) const {
    auto id = static_cast<size_t>(source->id());
    return id < registers_.size() ? registers_[id] : kNoRegister;
  }

  struct Miss {
    const GuardInstruction* instruction = nullptr;  // null: none
    PyObject* object = nullptr;                     // borrowed: what the failed check looked at
    bool slot_is_unset = false;                     // the load of the slot failed
  };
  Miss first_miss(const LocalsView& view) const;
  // All checks and fetches that fail; what needs an object that was not found is left out.
  std::vector<Miss> all_misses(const LocalsView& view) const;
  const std::vector<GuardInstruction>& instructions() const { return instructions_; }

 private:
  enum class Outcome : uint8_t { Holds, Fails, SlotIsUnset };
  static Outcome execute(const GuardInstruction& in, const LocalsView& view, PyObject** registers);
  bool can_execute(const GuardInstruction& in, PyObject* const* registers) const;
  int run(const LocalsView& view, PyObject** registers) const;
  class Emitter;

  std::vector<GuardInstruction> instructions_;
  uint32_t register_count_ = 0;
  bool has_fetches_ = false;
  std::vector<uint32_t> registers_;  // by source id
};

}  // namespace md
