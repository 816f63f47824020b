// A call of a compiled function: by its region alone when that was captured whole, as a frame under the driver otherwise.
#pragma once
#include "snapshot/policy.h"

namespace md {

// What a CompiledFunction was compiled with; the rest of the policy is the caller's.
struct CompileOptions {
  bool fullgraph = false;
  DynamicShapes dynamic = DynamicShapes::Automatic;
  uint64_t backend = 0;
  int64_t recompile_limit = -1;
  mutable const Policy* last_policy = nullptr;  // of the call before: nearly always that of the next one
};

// The backend of all compiled calls from now on, whatever they were compiled with; 0: none. Returns the one before.
uint64_t exchange_forced_backend(uint64_t backend);

// The policy of a call now, in this thread.
const Policy* policy_for_call(const CompileOptions& options);

// Vectorcall of `function` (a PyFunctionObject). Null with an exception set.
PyObject* call_compiled(BorrowedRef function, const CompileOptions& options, PyObject* const* args, size_t nargsf,
                        PyObject* keyword_names) noexcept;

}  // namespace md
