#include <bit>

#include "bytecode/bytecode.h"

namespace md {
namespace {

struct OpcodeRow {
  const char* name;
  uint8_t traits;
};
constexpr OpcodeRow kOpcodeRows[] = {
#define MD_OPCODE(name, pops, pushes, traits) {#name, traits},
#include "bytecode/opcodes.def"
#undef MD_OPCODE
};

const OpcodeRow& row(Opcode op) { return kOpcodeRows[static_cast<int>(op)]; }

int bit_count(int value) { return std::popcount(static_cast<unsigned>(value)); }

StackEffect fall_through(const Instruction& i) {
  const int a = i.arg, b = i.arg2;
  switch (i.op) {
#define MD_OPCODE(name, pops, pushes, traits) \
  case Opcode::name:                          \
    return {pops, pushes};
#include "bytecode/opcodes.def"
#undef MD_OPCODE
  }
  return {0, 0};
}

}  // namespace

const char* opcode_name(Opcode op) { return row(op).name; }

bool has_trait(Opcode op, OpcodeTrait trait) { return (row(op).traits & trait) != 0; }

StackEffect stack_effect(const Instruction& i, bool jump) {
  if (jump) {
    if (i.op == Opcode::FOR_ITER) return {1, 0};
    if (i.op == Opcode::JUMP_IF_TRUE_OR_POP || i.op == Opcode::JUMP_IF_FALSE_OR_POP) return {0, 0};
    if (i.op == Opcode::SEND && PY_VERSION_HEX < 0x030C0000) return {2, 1};
  }
  return fall_through(i);
}

}  // namespace md
