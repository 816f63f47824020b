// What the user is told when a place is captured again, and when it will not be any more.
#pragma once
#include <string>
#include <vector>

#include "bytecode/bytecode.h"
#include "eval_frame/code_cache.h"
#include "snapshot/policy.h"

namespace md {

// Which guard of each entry of this place fails now, newest entry first, each text once.
std::vector<std::string> failing_guards(const CodeCache& cache, const CacheKey& key, const LocalsView& view,
                                        const Bytecode& bytecode);

// The recompiles record: which guard of which entry failed.
void log_recompile(const CodeCache& cache, const CacheKey& key, const LocalsView& view, const Bytecode& bytecode);

// The recompile limit is reached: one warning for each key, or an error (PythonError): FailOnRecompileLimitHit under
// fullgraph, Unsupported under error_on_graph_break(True).
void report_limit(CodeCache& cache, const CacheKey& key, const LocalsView& view, const Bytecode& bytecode,
                  const Policy& policy, int limit);

}  // namespace md
