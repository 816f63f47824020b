#define _GNU_SOURCE
#include "cpython/stack_room.h"

#include <pthread.h>
#include <stdint.h>

enum { kMostKept = 4 * 1024 * 1024, kShareKept = 2 };

/* Addresses. lowest is 0 until the thread has determined it, and 1 if it is unknown. */
static _Thread_local uintptr_t lowest_address = 0, lowest_of_ours = 0;

static void find_limits(void) {
  pthread_attr_t attributes;
  void* lowest = NULL;
  size_t size = 0;
  lowest_address = lowest_of_ours = 1;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  int failed = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  if (failed != 0) return;
  size_t kept = size / kShareKept;
  if (kept > kMostKept) kept = kMostKept;
  if (kept < kCaptureStack) kept = kCaptureStack;
  lowest_address = (uintptr_t)lowest;
  lowest_of_ours = lowest_address + kept;
}

size_t pv_stack_left(void) {
  if (lowest_address == 0) find_limits();
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  if (lowest_address == 1) return SIZE_MAX;
  return here > lowest_address ? here - lowest_address : 0;
}

int pv_has_stack_room(void) {
  if (lowest_of_ours == 0) find_limits();
  return (uintptr_t)__builtin_frame_address(0) > lowest_of_ours;
}

int pv_recursion_left(PyThreadState* ts) {
#if PY_VERSION_HEX >= 0x030C0000
  return ts->py_recursion_remaining;
#else
  return ts->recursion_remaining;
#endif
}

#if PY_VERSION_HEX >= 0x030E0000
/* The evaluator checks the stack itself. */
int pv_take_room(PyThreadState* ts) {
  (void)ts;
  return 0;
}
void pv_give_room_back(PyThreadState* ts, int taken) {
  (void)ts;
  (void)taken;
}
#else
#if PY_VERSION_HEX >= 0x030C0000
#define MD_REMAINING c_recursion_remaining
#else
#define MD_REMAINING recursion_remaining
#endif

int pv_take_room(PyThreadState* ts) {
  int taken = ts->MD_REMAINING;
  ts->MD_REMAINING -= taken;
  return taken;
}

void pv_give_room_back(PyThreadState* ts, int taken) { ts->MD_REMAINING += taken; }
#endif
