// Whether the program is being traced: by settrace or setprofile, since 3.12 by sys.monitoring.
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "cpython/frame.h"

#undef _PyGC_FINALIZED
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_pystate.h"

#if PY_VERSION_HEX >= 0x030C0000

static int any_tool(const uint8_t* tools, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (tools[i]) return 1;
  }
  return 0;
}

int pv_monitoring_tools(PyThreadState* ts) {
  int tools = 0;
  for (int id = 0; id < PY_MONITORING_TOOL_IDS; id++) {
    if (ts->interp->monitoring_tool_names[id] != NULL) tools |= 1 << id;
  }
  return tools;
}

int pv_code_monitored(PyCodeObject* code, int tools) {
  _PyCoMonitoringData* data = code->_co_monitoring;
  if (data == NULL || tools == 0) return 0;
  for (size_t i = 0; i < sizeof(data->local_monitors.tools); i++) {
    if (data->local_monitors.tools[i] & tools) return 1;
  }
  return 0;
}

int pv_code_traced(PyThreadState* ts, PyCodeObject* code) {
  if (any_tool(ts->interp->monitors.tools, sizeof(ts->interp->monitors.tools))) return 1;
  return code->_co_monitoring != NULL && pv_code_monitored(code, pv_monitoring_tools(ts));
}

#else

int pv_monitoring_tools(PyThreadState* ts) {
  (void)ts;
  return 0;
}

int pv_code_monitored(PyCodeObject* code, int tools) {
  (void)code;
  (void)tools;
  return 0;
}

int pv_code_traced(PyThreadState* ts, PyCodeObject* code) {
  (void)code;
  return ts->cframe->use_tracing != 0;
}

#endif

int pv_traced(PyThreadState* ts, PvFrame* frame) { return pv_code_traced(ts, pv_code(frame)); }
