#include "bytecode/bytecode.h"

namespace md {
namespace {

struct OpcodeRow {
  const char* name;
  int pops, pushes;
};
constexpr OpcodeRow kOpcodeRows[] = {
#define MD_OPCODE(name, pops, pushes) {#name, pops, pushes},
#include "bytecode/opcodes.def"
#undef MD_OPCODE
};

const OpcodeRow& row(Opcode op) { return kOpcodeRows[static_cast<int>(op)]; }

int bit_count(int value) { return __builtin_popcount(static_cast<unsigned>(value)); }

// Number of values popped by an instruction whose row says -1.
int computed_pops(const Instruction& i) {
  switch (i.op) {
    case Opcode::CALL:
      return i.arg + 2;
    case Opcode::CALL_KW:
      return i.arg + 3;
    case Opcode::CALL_FUNCTION_EX:
      return i.arg + 3;
    case Opcode::MAKE_FUNCTION:
      return 1 + bit_count(i.arg & 15);
    case Opcode::BUILD_MAP:
      return 2 * i.arg;
    case Opcode::BUILD_CONST_KEY_MAP:
      return i.arg + 1;
    case Opcode::FORMAT_VALUE:
      return 1 + i.arg2;
    default:
      return i.arg;
  }
}

int computed_pushes(const Instruction& i) { return i.op == Opcode::UNPACK_EX ? i.arg + 1 + i.arg2 : i.arg; }

}  // namespace

const char* opcode_name(Opcode op) { return row(op).name; }

StackEffect stack_effect(const Instruction& i, bool jump) {
  if (jump) {
    if (i.op == Opcode::FOR_ITER) return {1, 0};
    if (i.op == Opcode::JUMP_IF_TRUE_OR_POP || i.op == Opcode::JUMP_IF_FALSE_OR_POP) return {0, 0};
    if (i.op == Opcode::SEND && PY_VERSION_HEX < 0x030C0000) return {2, 1};
  }
  const OpcodeRow& effect = row(i.op);
  return {effect.pops >= 0 ? effect.pops : computed_pops(i), effect.pushes >= 0 ? effect.pushes : computed_pushes(i)};
}

bool has_target(Opcode op) {
  switch (op) {
    case Opcode::JUMP:
    case Opcode::JUMP_BACKWARD:
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_IF_FALSE:
    case Opcode::POP_JUMP_IF_NONE:
    case Opcode::POP_JUMP_IF_NOT_NONE:
    case Opcode::JUMP_IF_TRUE_OR_POP:
    case Opcode::JUMP_IF_FALSE_OR_POP:
    case Opcode::FOR_ITER:
    case Opcode::SEND:
      return true;
    default:
      return false;
  }
}

bool ends_flow(Opcode op) {
  switch (op) {
    case Opcode::JUMP:
    case Opcode::JUMP_BACKWARD:
    case Opcode::RETURN_VALUE:
    case Opcode::RETURN_CONST:
    case Opcode::RERAISE:
    case Opcode::RAISE_VARARGS:
    case Opcode::UNKNOWN:
      return true;
    default:
      return false;
  }
}

}  // namespace md
