/* Before 3.14 a thread that waits for the GIL of a finalizing interpreter is terminated by pthread_exit(), which
   unwinds its stack. In our frames that would run destructors without the GIL, and abort at the first noexcept
   function. Instead such a thread sleeps until the process ends, as it does since 3.14. */
#include <Python.h>
#include <stdint.h>
#include <unistd.h>
#include <unwind.h>

/* The personality routine of every frame with cleanup code; the linker redirects it here (--wrap). */
_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions, uint64_t exception_class,
                                                struct _Unwind_Exception* exception, struct _Unwind_Context* context);
_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions, uint64_t exception_class,
                                                struct _Unwind_Exception* exception, struct _Unwind_Context* context);

__attribute__((used)) _Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                                      uint64_t exception_class,
                                                                      struct _Unwind_Exception* exception,
                                                                      struct _Unwind_Context* context) {
  while ((actions & _UA_FORCE_UNWIND) != 0 && !Py_IsInitialized()) pause();
  return __real___gxx_personality_v0(version, actions, exception_class, exception, context);
}
