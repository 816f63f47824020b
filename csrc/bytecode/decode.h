// Code units of one CPython version to neutral instructions.
#pragma once
#include "bytecode/bytecode.h"

namespace md {

struct DecodedCode {
  std::vector<Instruction> instructions;
  std::vector<int32_t> unit_to_index;  // -1 inside caches
};

DecodedCode decode(PyCodeObject* code);

}  // namespace md
