#include "eval_frame/signal_service.h"

#include "base/interrupts.h"
#include "cpython/gil_scope.h"
#include "cpython/ref.h"
#include "cpython/signals.h"
#include "snapshot/policy.h"
#include "symbolic/tensors/host_calls.h"

namespace md {

namespace {

int64_t served = 0;

// A handler runs outside of any compiled call, and sees the frames as they are.
bool run_handlers() {
  AmbientPolicy none(nullptr);
  HostCallFramesScope no_frames(nullptr);
  return pv_run_signal_handlers() == 0;
}

void serve() {
  if (pv_is_main_thread() == 0 || host_call_has_run()) return;
  GilScope gil;  // the run may have released it
  if (PyErr_Occurred() != nullptr) return;
  ++served;
  if (!run_handlers()) throw SignalRaised();
}

}  // namespace

void serve_signals_in_plans() {
  if (const int* flag = pv_signal_flag()) interrupts = {flag, serve};
}

int64_t signals_served() { return served; }

bool run_waiting_handlers() { return pv_is_main_thread() == 0 || run_handlers(); }

}  // namespace md
