// What a cached function returned earlier for sizes that vary.
//   1. The wrapped function is traced beside the hit. The guards say that the cached object holds what it computes, so
//      the numbers in it are expressions of the sizes, in each run, and are not read from the cache.
//   2. The object is the one in the cache.
//   3. Where the function has side effects, computes tensors, raises or breaks, or its result is of another form, the
//      trace restarts, and reads the cached object like any other. A call that is given sizes read from there
//      specialises them.
#pragma once
#include <optional>

#include "symbolic/trace/tracer.h"

namespace md {

// The size that the value is, if it differs from run to run and a guard can compute it at once.
std::optional<Dim> open_size(Tracer& tracer, const ValuePtr& value);
// The result at `source`, which is `kept` now, of a call of the function at `wrapped`.
ValuePtr result_for_sizes(Tracer& tracer, const Source* wrapped, const CallArgs& args, const Source* source,
                          BorrowedRef kept);

}  // namespace md
