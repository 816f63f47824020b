// Table of pointwise rows with machine code: one emitter for floats, one for 32- and 64-bit integers, one for bools,
// like the three expressions in pointwise.def.
#pragma once
#include "machine_code/vector_body.h"

namespace md {

// Registers of one instruction: vectors, or masks for bools. Distinct, except where operands are the same value.
struct EmitterOperands {
  uint8_t dst = 0;
  uint8_t src[3] = {};
  const Scalar* params = nullptr;
  int one_b = -1;  // loop register of the second operand if that is a single element
  VectorRegister to() const { return {dst}; }
  VectorRegister a() const { return {src[0]}; }
  VectorRegister b() const { return {src[1]}; }
  VectorRegister c() const { return {src[2]}; }
  MaskRegister to_mask() const { return {dst}; }
  MaskRegister mask_a() const { return {src[0]}; }
  MaskRegister mask_b() const { return {src[1]}; }
};

using Emitter = void (*)(VectorBody& body, const EmitterOperands& operands);

// nullptr if there is none.
Emitter find_emitter(const CodeInstruction& instruction);

}  // namespace md
