#define _GNU_SOURCE
#include "cpython/stack_room.h"

#include <pthread.h>
#include <stdint.h>

#if PY_VERSION_HEX >= 0x030E0000
int pv_has_stack_room(void) { return 1; }
int pv_take_room(PyThreadState* ts) {
  (void)ts;
  return 0;
}
void pv_give_room_back(PyThreadState* ts, int taken) {
  (void)ts;
  (void)taken;
}
#else

/* What a walk, a kernel and the handling of the error may need. A thread may have a stack of a few pages only. */
enum { kMargin = 512 * 1024, kShare = 4 };

/* The lowest address that a frame of ours may reach; 1: not known. */
static uintptr_t limit_of_thread(void) {
  pthread_attr_t attributes;
  void* lowest = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 1;
  int failed = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  if (failed != 0) return 1;
  return (uintptr_t)lowest + (size / kShare < kMargin ? size / kShare : kMargin);
}

int pv_has_stack_room(void) {
  static _Thread_local uintptr_t limit = 0;
  if (limit == 0) limit = limit_of_thread();
  return (uintptr_t)__builtin_frame_address(0) > limit;
}

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
