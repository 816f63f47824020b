// Guards compiled to flat code: each source is fetched once into a register, checks read registers.
#pragma once
#include <span>
#include <vector>

#include "guards/guard.h"

namespace md {

// The checks of guard_kinds.def, and the steps between them.
enum class GuardOp : uint8_t {
#define MD_GUARD(name, ...) name,
#include "guards/guard_kinds.def"
#undef MD_GUARD
  Fetch,
  Nothing,  // only loads its slot
};

inline constexpr uint32_t kNoRegister = UINT32_MAX;

// Memo of a lookup by name: the object found, and the version of the dict or type at that time; valid while
// the version is unchanged. Written by checks, under the GIL; the object is borrowed from the dict or type,
// which owns it in this version.
struct LookupMemo {
  uint64_t version = 0;  // 0: empty
  PyObject* object = nullptr;
};

// An instruction may first load one slot into a register, so most checks on arguments take one instruction.
struct GuardInstruction {
  GuardOp op;
  LookupDict lookup;       // of a Fetch or an ABSENT
  uint32_t target;         // register: written by Fetch, read by a check
  uint32_t other;          // register of a fetch's base, or the second one of ALIAS
  int32_t guard;           // index of the guard that a check belongs to, -1: none
  int32_t slot;            // -1: no load
  uint32_t slot_register;  // destination of the load
  union {
    const Guard* operand;
    const Source* source;
    PyObject* const* cell;
    Py_ssize_t number;
  };
  mutable LookupMemo memo;
};

// A check that reads the registers of its guard's places.
bool reads_places(const GuardInstruction& in);

class GuardProgram {
 public:
  // The guards must be sorted and must not move during the program's lifetime.
  void compile(const std::vector<Guard*>& guards);

  // Runs all instructions; the caller provides register_count() registers.
  bool check(const LocalsView& view, PyObject** registers) const { return run(view, registers) < 0; }
  // Runs a sequence of instructions; registers that they read but do not load must be set.
  static bool check(std::span<const GuardInstruction> instructions, const LocalsView& view, PyObject** registers);
  bool has_fetches() const { return has_fetches_; }
  uint32_t register_count() const { return register_count_; }
  // kNoRegister if no guard depends on the source.
  uint32_t register_of(const Source* source) const {
    auto id = static_cast<size_t>(source->id());
    return id < registers_.size() ? registers_[id] : kNoRegister;
  }

  struct Miss {
    const GuardInstruction* instruction = nullptr;  // null: none
    PyObject* object = nullptr;                     // borrowed: the object that failed the check
    bool slot_is_unset = false;                     // the slot to load was unset
  };
  Miss first_miss(const LocalsView& view) const;
  // All failing checks and fetches, except those that depend on an object that was not found.
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
