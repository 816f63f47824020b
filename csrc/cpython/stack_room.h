// How much of its C stack a thread has left. Before 3.14 CPython counts calls, and takes a frame for smaller than ours.
#pragma once
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0: one more frame of ours might not fit. Always 1 where CPython asks itself (from 3.14). */
int pv_has_stack_room(void);
/* Until the second call the evaluator finds no room, and raises RecursionError. Returns what to give back. */
int pv_take_room(PyThreadState* ts);
void pv_give_room_back(PyThreadState* ts, int taken);

#ifdef __cplusplus
}
#endif
