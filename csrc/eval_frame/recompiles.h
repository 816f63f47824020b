// Reports to the user when a place is captured again, and when its limit is reached.
#pragma once
#include <string>
#include <vector>

#include "eval_frame/code_cache.h"
#include "eval_frame/region_lookup.h"

namespace md {

// No entry of the key fits: counts which guard failed, and reports it to listeners. Throws PythonError(RecompileError)
// under config.error_on_recompile.
void report_recompile(CodeCache& cache, const CacheKey& key, const RegionPlace& place);

// The guards of each entry of the key that fail now, newest entry first, without duplicate texts.
std::vector<std::string> failing_guards(const CodeCache& cache, const CacheKey& key, const RegionPlace& place);

// Which limit prevents another entry.
struct ReachedLimit {
  const char* flag;  // null if there is none
  int64_t limit;
};
ReachedLimit reached_limit(const CodeCache& cache, const CacheKey& key, const Policy& policy);

// Reports the limit: one warning per key, or an error (PythonError): FailOnRecompileLimitHit under fullgraph and with
// config.fail_on_recompile_limit_hit, Unsupported under error_on_graph_break(True).
void report_limit(CodeCache& cache, const CacheKey& key, const RegionPlace& place, const ReachedLimit& reached);

// The failing guard of each entry, as lines of a message; "" if there are none.
std::string failure_lines(const CodeCache& cache, const CacheKey& key, const RegionPlace& place);

}  // namespace md
