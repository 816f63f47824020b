// What a trace does, told as it goes: the logs trace_source, trace_bytecode and trace_call, and the places of side effects.
#pragma once
#include <cstddef>

#include "bytecode/bytecode.h"

namespace md {

class Tracer;

class TraceLog {
 public:
  TraceLog();  // as the logs are switched now
  bool on() const { return source_ || bytecode_ || calls_ || effects_; }
  // Around the handler of an instruction of the innermost frame. A trace that leaves the handler by a signal is not told of.
  void before(const Tracer& tracer, const Instruction& instruction);
  void after(Tracer& tracer);

 private:
  void log_line(const Tracer& tracer);
  void log_instruction(const Tracer& tracer, const Instruction& instruction) const;
  void log_new_nodes(const Tracer& tracer) const;
  void log_inlined_call(const Tracer& tracer) const;

  const bool source_, bytecode_, calls_, effects_;
  // The line told last.
  const Bytecode* logged_code_ = nullptr;
  int logged_line_ = 0;
  // Before the instruction.
  size_t frames_before_ = 0, nodes_before_ = 0, effects_before_ = 0;
  const Bytecode* code_before_ = nullptr;
  int index_before_ = 0;
};

}  // namespace md
