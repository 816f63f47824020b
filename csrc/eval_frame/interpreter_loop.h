// Runs whole frames instruction by instruction through step(): a stress test of everything in this folder.
#pragma once
#include "eval_frame/concrete.h"
#include "eval_frame/hook.h"

#include <array>
#include <cstdint>
#include <memory>

namespace md {

struct LoopOptions {
  double hand_over_rate = 0;  // fraction of instructions at which the frame is given to the evaluator, at random
  double throw_rate = 0;      // fraction of caught exceptions that the evaluator unwinds instead of unwind()
  double lend_rate = 0;       // fraction of the `for` loops that are lent to the evaluator, at random
  uint64_t seed = 1;
};

struct LoopCounters {
  uint64_t frames = 0;
  uint64_t default_frames = 0;  // traced or without stack space
  uint64_t instructions = 0;
  uint64_t random_hand_overs = 0;
  uint64_t loops_lent = 0;
  uint64_t returns = 0;
  uint64_t unwound = 0;
  uint64_t thrown = 0;
  // Bail-outs requested by step(), by opcode.
  std::array<uint64_t, 256> hand_overs{};
};

class InterpreterLoop : public FrameHandler {
 public:
  explicit InterpreterLoop(const LoopOptions& options) : options_(options), random_(options.seed) {}
  PyObject* run(PyThreadState* ts, PvFrame* frame) override;
  const LoopCounters& counters() const { return counters_; }

 private:
  PyObject* execute(LiveFrame& frame);
  bool decide(double rate);
  StepResult step_or_lend(LiveFrame& frame, PyObject** result);

  LoopOptions options_;
  uint64_t random_;
  LoopCounters counters_;
};

}  // namespace md
