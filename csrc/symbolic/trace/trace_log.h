// Logs of a running trace: trace_source, trace_bytecode and trace_call, and the locations of side effects.
#pragma once
#include <cstddef>

#include "bytecode/bytecode.h"

namespace md {

class Tracer;

class TraceLog {
 public:
  TraceLog();  // with the logs that are enabled now
  bool on() const { return source_ || bytecode_ || calls_ || effects_; }
  // Called around the handler of an instruction of the innermost frame. A handler that ends the trace is not logged.
  void before(const Tracer& tracer, const Instruction& instruction);
  void after(Tracer& tracer);

 private:
  void log_line(const Tracer& tracer);
  void log_instruction(const Tracer& tracer, const Instruction& instruction) const;
  void log_new_nodes(const Tracer& tracer) const;
  void log_inlined_call(const Tracer& tracer) const;

  const bool source_, bytecode_, calls_, effects_;
  // The line logged last.
  const Bytecode* logged_code_ = nullptr;
  int logged_line_ = 0;
  // The state before the instruction.
  size_t frames_before_ = 0, nodes_before_ = 0, effects_before_ = 0;
  const Bytecode* code_before_ = nullptr;
  int index_before_ = 0;
};

}  // namespace md
