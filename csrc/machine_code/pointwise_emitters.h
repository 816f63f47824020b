// THE table of pointwise rows that have machine code: one emitter for floats, one for integers of 32 and 64 bits, one for
// bools, as pointwise.def has one expression for each.
#pragma once
#include "machine_code/vector_body.h"

namespace md {

// Registers of one instruction: vectors, or masks where a value is a bool. They differ, but where operands are the same.
struct EmitterOperands {
  uint8_t dst = 0;
  uint8_t src[3] = {};
  const Scalar* param = nullptr;
  int one_b = -1;  // the loop register of the second operand, where it is one element
  VectorRegister to() const { return {dst}; }
  VectorRegister a() const { return {src[0]}; }
  VectorRegister b() const { return {src[1]}; }
  VectorRegister c() const { return {src[2]}; }
  MaskRegister to_mask() const { return {dst}; }
  MaskRegister mask_a() const { return {src[0]}; }
  MaskRegister mask_b() const { return {src[1]}; }
};

using Emitter = void (*)(VectorBody& body, const EmitterOperands& operands);

// nullptr: none.
Emitter find_emitter(const CodeInstruction& instruction);

}  // namespace md
