// A call of a compiled function: by its region alone if that covers the whole function,
// otherwise as a frame in the driver.
#pragma once
#include "snapshot/policy.h"

namespace md {

// What a CompiledFunction was compiled with; the rest of the policy comes from the caller.
struct CompileOptions {
  bool fullgraph = false;
  DynamicShapes dynamic = DynamicShapes::Automatic;
  uint64_t backend = 0;
  int64_t recompile_limit = -1;
  mutable const Policy* last_policy = nullptr;  // of the previous call, nearly always that of the next one
  mutable bool is_judged = false;               // a call has shown whether anything is captured
};

// Sets the backend of all compiled calls from now on, overriding their own; 0: no override. Returns the previous one.
uint64_t exchange_forced_backend(uint64_t backend);

// The effective policy for a call on a thread that inherits `from`.
const Policy* policy_for_call(const CompileOptions& options, const InheritedPolicy& from);

// Vectorcall of `function` (a PyFunctionObject). Returns null with an exception set.
PyObject* call_compiled(BorrowedRef function, const CompileOptions& options, PyObject* const* args, size_t nargsf,
                        PyObject* keyword_names) noexcept;

}  // namespace md
