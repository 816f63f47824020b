// Decodes the code units of one CPython version into neutral instructions.
#pragma once
#include "bytecode/bytecode.h"

namespace md {

struct DecodedCode {
  std::vector<Instruction> instructions;
  std::vector<int32_t> unit_to_index;  // -1 inside caches
  std::vector<Ref> extra_constants;    // indexed after those of the code object
};

DecodedCode decode(PyCodeObject* code);

}  // namespace md
