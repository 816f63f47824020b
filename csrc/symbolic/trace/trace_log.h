// What a walk does, told as it goes: the logs trace_source, trace_bytecode and trace_call, and the places of side effects.
#pragma once
#include <cstddef>

#include "bytecode/bytecode.h"

namespace md {

class Walk;

class WalkTrace {
 public:
  WalkTrace();  // as the logs are switched now
  bool on() const { return source_ || bytecode_ || calls_ || effects_; }
  // Around the handler of an instruction of the innermost frame. A walk that leaves the handler by a signal is not told of.
  void before(const Walk& walk, const Instruction& instruction);
  void after(Walk& walk);

 private:
  void tell_line(const Walk& walk);
  void tell_instruction(const Walk& walk, const Instruction& instruction) const;
  void tell_new_nodes(const Walk& walk) const;
  void tell_inlined_call(const Walk& walk) const;

  const bool source_, bytecode_, calls_, effects_;
  // The line told last.
  const Bytecode* told_code_ = nullptr;
  int told_line_ = 0;
  // Before the instruction.
  size_t frames_before_ = 0, nodes_before_ = 0, effects_before_ = 0;
  const Bytecode* code_before_ = nullptr;
  int index_before_ = 0;
};

}  // namespace md
