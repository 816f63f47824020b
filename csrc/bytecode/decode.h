// Code units of one CPython version to neutral instructions.
#pragma once
#include "bytecode/bytecode.h"

namespace md {

struct DecodedCode {
  std::vector<Instruction> instructions;
  std::vector<int32_t> unit_to_index;  // -1 inside caches
  std::vector<Ref> extra_constants;    // behind those of the code object
};

DecodedCode decode(PyCodeObject* code);

}  // namespace md
