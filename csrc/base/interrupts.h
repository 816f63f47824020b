// Whether somebody wants the program's attention while a plan runs: asked between steps, which know nothing of signals.
#pragma once

namespace md {

// flag: set by somebody else, at any time; from then on serve() is called at each question until it has been cleared. serve() may
// throw, which ends the run.
struct Interrupts {
  const int* flag;
  void (*serve)();
};

// Set once, before the first plan runs.
inline const int kNoInterrupts = 0;
inline Interrupts interrupts{&kNoInterrupts, nullptr};

inline bool interrupt_waits() { return __atomic_load_n(interrupts.flag, __ATOMIC_RELAXED) != 0; }

inline void serve_interrupts() {
  if (interrupt_waits()) [[unlikely]]
    interrupts.serve();
}

}  // namespace md
