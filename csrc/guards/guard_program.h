// Guards as flat code: each source is fetched once into a register, checks read registers.
#pragma once
#include <vector>

#include "guards/guard.h"

namespace md {

// The checks of guard_kinds.def, and the steps between them.
enum class GuardOp : uint8_t {
#define MD_GUARD(name, doc) name,
#include "guards/guard_kinds.def"
#undef MD_GUARD
  FetchLocal,
  Fetch,
};

struct GuardInstruction {
  GuardOp op;
  uint32_t target = 0;  // register: written by a fetch, read by a check
  uint32_t other = 0;   // register of a fetch's base, or the second one of ALIAS
  int32_t guard = -1;   // index of the guard that a check belongs to
  union {
    const Guard* operand;
    const Source* source;
    PyObject* const* cell;
    Py_ssize_t number;
  };
};

class GuardProgram {
 public:
  // The guards, sorted, stay where they are as long as the program lives.
  void compile(const std::vector<Guard*>& guards);

  bool check(const LocalsView& view) const;

  struct Miss {
    const GuardInstruction* instruction = nullptr;  // null: none
    PyObject* object = nullptr;                     // borrowed: what the failed check looked at
  };
  Miss first_miss(const LocalsView& view) const;

 private:
  int run(const LocalsView& view, PyObject** registers) const;
  uint32_t emit_fetch(const Source* source, std::vector<int>& register_of_source);

  std::vector<GuardInstruction> instructions_;
  uint32_t register_count_ = 0;
};

}  // namespace md
