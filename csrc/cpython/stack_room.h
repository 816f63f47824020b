// How much of its C stack, and how many calls below its recursion limit, a thread has left.
#pragma once
#include <Python.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a walk, the making of a plan and the kernels may need. */
enum { kCaptureStack = 256 * 1024 };

/* Bytes of this thread's C stack below the caller; SIZE_MAX: not known. */
size_t pv_stack_left(void);
/* 0: what is left is the program's, which calls C code of its own there: no frame of ours is begun. Half of a stack, or 4 MiB. */
int pv_has_stack_room(void);
/* So that the evaluator, entered next, raises RecursionError; what was taken is to be given back. */
int pv_take_room(PyThreadState* ts);
void pv_give_room_back(PyThreadState* ts, int taken);
/* Calls of Python functions up to the recursion limit. */
int pv_recursion_left(PyThreadState* ts);

#ifdef __cplusplus
}
#endif
