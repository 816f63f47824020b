// Version-neutral interface to CPython's interpreter frame and the PEP 523 hook, implemented by one small C file per
// version (py311.c ...), the only files that use frame internals. Positions are in code units (2 bytes); slots count
// from localsplus[0]; the value stack follows the locals.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct _PyInterpreterFrame PvFrame;
typedef PyObject* (*PvHook)(PyThreadState*, PvFrame*, int throwflag);

/* hook */
void pv_install(PvHook hook); /* NULL restores the default evaluator */
PvHook pv_installed(void);    /* NULL: the default evaluator */
PyObject* pv_default(PyThreadState* ts, PvFrame* frame, int throwflag);

/* read; results are borrowed */
PyCodeObject* pv_code(PvFrame* frame);
/* Whether calling this code creates a generator, a coroutine or an asynchronous generator. */
static inline int pv_makes_generator(PyCodeObject* code) {
  return (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
}
PyObject* pv_func(PvFrame* frame); /* a PyFunctionObject or NULL */
PyObject* pv_globals(PvFrame* frame);
PyObject* pv_builtins(PvFrame* frame);
PyObject* pv_locals_mapping(PvFrame* frame); /* f_locals of a class or module body, NULL in a function */
int pv_is_generator(PvFrame* frame);
int pv_has_object(PvFrame* frame); /* a frame object exists: its locals may be read after the frame has ended */
int pv_next(PvFrame* frame);       /* code unit of the next instruction to execute */
int pv_depth(PvFrame* frame);      /* values on the stack */
PyObject* pv_get(PvFrame* frame, int slot);
/* Where the slots are plain object pointers: the first of them. NULL since 3.14. */
PyObject** pv_slots(PvFrame* frame);
/* What the stack holds for the position of an exception: a new reference to an int; NULL with an exception set. */
PyObject* pv_position(int unit);

/* write */
void pv_put(PvFrame* frame, int slot, PyObject* stolen); /* does not drop the old value */
void pv_set_next(PvFrame* frame, int unit);              /* the evaluator resumes at this unit */
void pv_set_current(PvFrame* frame, int unit);           /* this unit is being executed (line numbers, f_lasti) */
void pv_set_depth(PvFrame* frame, int depth);
/* While we execute a frame, its stack must be invisible to the garbage collector and frame objects. */
void pv_hide_stack(PvFrame* frame);

/* thread */
void pv_link(PyThreadState* ts, PvFrame* frame);
void pv_unlink(PyThreadState* ts, PvFrame* frame);
int pv_enter(PyThreadState* ts); /* recursion accounting; -1 (nothing raised): limit reached, let the evaluator raise */
void pv_leave(PyThreadState* ts);
PyObject** pv_exc_slot(PyThreadState* ts);                 /* exc_info->exc_value, the exception being handled */
int pv_traced(PyThreadState* ts, PvFrame* frame);          /* settrace, setprofile or sys.monitoring is active */
int pv_code_traced(PyThreadState* ts, PyCodeObject* code); /* the same, before a frame exists */
/* Tools registered with sys.monitoring, one bit each; whether any of `tools` monitors this code object. */
int pv_monitoring_tools(PyThreadState* ts);
int pv_code_monitored(PyCodeObject* code, int tools);
int pv_has_pending(PyThreadState* ts);
/* Handles signals, pending calls and GIL requests: 0 handled, -1 with an exception set, 1
   only the evaluator can handle it. */
int pv_handle_pending(PyThreadState* ts);

/* What the evaluator undoes where it returns; noted while the frame that it is given is still linked and entered. */
typedef struct {
  void* outer;
  int calls, c_calls;
} PvEvaluation;
void pv_note_evaluation(PyThreadState* ts, PvEvaluation* evaluation);
/* The evaluator does not return, its C frames are gone: the frame that it ran is entered again, and not linked. */
void pv_drop_evaluation(PyThreadState* ts, const PvEvaluation* evaluation);

/* leave: the frame must be linked and entered before the call and is gone after it; returns the frame's result */
PyObject* pv_eval_rest(PyThreadState* ts, PvFrame* frame, int unit, int depth);
/* `unit` is the instruction that raised. 3.13 looks up its handler one unit too early: see unwinder.cpp. */
PyObject* pv_eval_throw(PyThreadState* ts, PvFrame* frame, int unit, int depth);
/* Leaves with the current exception, whose traceback entry exists already, and an empty stack.
   Returns 0 if this version cannot. */
int pv_leave_raised(PyThreadState* ts, PvFrame* frame);

/* a generator, coroutine or asynchronous generator */
PvFrame* pv_generator_frame(PyObject* generator); /* NULL when it has finished */
int pv_generator_started(PyObject* generator);    /* 0: created, nothing has run */

#ifdef __cplusplus
}
#endif
