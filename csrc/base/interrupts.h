// Interrupts of a running plan, polled between steps; the executor knows nothing of signals.
#pragma once

namespace md {

// flag: set asynchronously by another party; while it is non-zero every poll calls serve(). serve()
// may throw, which aborts the run.
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
