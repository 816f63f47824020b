// Signals between the arrival and the Python handler, which runs in the main thread at a point where somebody asks.
#pragma once
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Not 0 while a handler waits; for relaxed loads by any thread. */
const int* pv_signal_flag(void);
int pv_is_main_thread(void);
/* GIL held, main thread: runs the handlers. -1 with an exception set: one raised. */
int pv_run_signal_handlers(void);

#ifdef __cplusplus
}
#endif
