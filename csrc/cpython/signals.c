#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "cpython/signals.h"

#undef _PyGC_FINALIZED
#include "internal/pycore_runtime.h"

int pv_is_main_thread(void) { return PyThread_get_thread_ident() == _PyRuntime.main_thread; }

#if PY_VERSION_HEX >= 0x030D0000
const int* pv_signal_flag(void) { return &_PyRuntime.signals.is_tripped; }
int pv_run_signal_handlers(void) { return PyErr_CheckSignals(); }
#elif PY_VERSION_HEX >= 0x030C0000
const int* pv_signal_flag(void) { return (const int*)&_PyRuntime.signals.is_tripped; }
int pv_run_signal_handlers(void) { return PyErr_CheckSignals(); }
#else
/* The flag polled here is the evaluator's, which PyErr_CheckSignals() does not reset. */
const int* pv_signal_flag(void) { return (const int*)&_PyRuntime.ceval.signals_pending; }
int pv_run_signal_handlers(void) { return Py_MakePendingCalls(); }
#endif
