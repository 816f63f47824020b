// Signals that have arrived but whose Python handler, which runs in the main thread when polled, has not run yet.
#pragma once
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Non-zero while a handler is pending; any thread may read it with relaxed loads. */
const int* pv_signal_flag(void);
int pv_is_main_thread(void);
/* Runs the handlers. Requires the GIL and the main thread. Returns -1 with an exception set if a handler raised. */
int pv_run_signal_handlers(void);

#ifdef __cplusplus
}
#endif
