#define _GNU_SOURCE
#include "cpython/stack_room.h"

#include <pthread.h>
#include <stdint.h>

enum { kMostKept = 4 * 1024 * 1024, kShareKept = 2 };

/* Addresses of this thread; 0 until they are determined, and 1 if they are unknown. */
struct Limits {
  uintptr_t lowest, lowest_of_ours;
};
static _Thread_local struct Limits limits = {0, 0};

static void find_limits(struct Limits* own) {
  pthread_attr_t attributes;
  void* lowest = NULL;
  size_t size = 0;
  own->lowest = own->lowest_of_ours = 1;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  int failed = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  if (failed != 0) return;
  size_t kept = size / kShareKept;
  if (kept > kMostKept) kept = kMostKept;
  if (kept < kCaptureStack) kept = kCaptureStack;
  own->lowest = (uintptr_t)lowest;
  own->lowest_of_ours = own->lowest + kept;
}

size_t pv_stack_left(void) {
  struct Limits* own = &limits;
  if (own->lowest == 0) find_limits(own);
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  if (own->lowest == 1) return SIZE_MAX;
  return here > own->lowest ? here - own->lowest : 0;
}

int pv_has_stack_room(void) {
  uintptr_t lowest = limits.lowest_of_ours; /* read once: a place of a thread is found by a call */
  if (lowest == 0) {
    find_limits(&limits);
    lowest = limits.lowest_of_ours;
  }
  return (uintptr_t)__builtin_frame_address(0) > lowest;
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
