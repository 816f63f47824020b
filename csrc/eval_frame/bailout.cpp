#include "eval_frame/bailout.h"

#include "base/error.h"
#include "base/log.h"
#include "cpython/errors.h"
#include "cpython/text.h"
#include "eval_frame/counters.h"
#include "eval_frame/internal_work.h"

namespace md {

namespace {

void count(Bailout reason) {
  ++counters().hand_overs;
  ++bailout_counts()[static_cast<size_t>(reason)];
}

// Logging runs Python code: no exception may be set, and its own frames are not logged.
void log(Bailout reason, PyCodeObject* code, int line, const char* opcode) {
  static thread_local bool is_logging = false;
  if (is_logging) return;
  is_logging = true;
  ErrorAside aside;
  InternalWork internal_work;
  const BailoutRow& row = kBailoutRows[static_cast<size_t>(reason)];
  log_event(LogArtifact::handover, str_cat("HAND-OVER ", row.name, ": ", text_of(code->co_name), " (",
                                           text_of(code->co_filename), ":", line, ")", opcode, "\n  ", row.doc));
  is_logging = false;
}

}  // namespace

std::array<int64_t, kBailoutCount>& bailout_counts() {
  static std::array<int64_t, kBailoutCount> counts{};
  return counts;
}

void note_bailout(Bailout reason, const Bytecode& bytecode, int index) {
  count(reason);
  if (log_enabled(LogArtifact::handover))
    log(reason, bytecode.code(), bytecode.line_at(index), str_cat(" at ", opcode_name(bytecode[index].op)).c_str());
}

void note_bailout(Bailout reason, PyCodeObject* code) {
  count(reason);
  if (log_enabled(LogArtifact::handover)) log(reason, code, code->co_firstlineno, "");
}

}  // namespace md
