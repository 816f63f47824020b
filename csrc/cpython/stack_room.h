// How much of its C stack, and how many calls below its recursion limit, a thread has left.
#pragma once
#include <Python.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Upper bound of the stack used by a trace, a lowering and the kernels. */
enum { kCaptureStack = 256 * 1024 };

/* Bytes of this thread's C stack below the caller; SIZE_MAX if unknown. */
size_t pv_stack_left(void);
/* 0 if the rest of the stack is reserved for the program's own C calls (half of the stack, at most 4
   MiB): begin no captured frame. */
int pv_has_stack_room(void);
/* Makes the evaluator, entered next, raise RecursionError; the caller must return what was taken. */
int pv_take_room(PyThreadState* ts);
void pv_give_room_back(PyThreadState* ts, int taken);
/* Number of Python calls left before the recursion limit. */
int pv_recursion_left(PyThreadState* ts);

#ifdef __cplusplus
}
#endif
