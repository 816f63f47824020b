// Loops of a stretch: the evaluator runs them, and the driver goes on behind.
#include "eval_frame/counters.h"
#include "eval_frame/driver.h"
#include "eval_frame/region_lookup.h"

namespace md {

namespace {

// Whether an exception of this instruction may end in a handler that goes on. The evaluator would keep the frame there;
// that of a `with` goes on where the context manager swallows the exception, which few do.
bool may_be_caught(const Bytecode& code, int index) {
  int target = code.handler_at(index).target;
  if (target < 0) return false;
  return code[target].op != Opcode::PUSH_EXC_INFO || code[target + 1].op != Opcode::WITH_EXCEPT_START;
}

bool is_lendable(const Bytecode& code, int header, const Stretch& stretch) {
  if (!code[header].resumable || may_be_caught(code, header)) return false;
  std::optional<Stretch> loop = innermost_loop(code, header);
  return loop && loop->first == header && stretch.contains(loop->first) && stretch.contains(loop->last);
}

}  // namespace

bool FrameDriver::lend_loop() {
  int header = frame_.index();
  if (frame_.instruction().op != Opcode::FOR_ITER) return false;
  if (header != lent_header_ && !is_lendable(frame_.bytecode(), header, stretch_)) return false;
  lent_header_ = header;
  if (!frame_.lend_loop(&result_)) return false;
  ++counters().loops_lent;
  return true;
}

}  // namespace md
