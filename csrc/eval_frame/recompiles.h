// What the user is told when a place is captured again, and when it will not be any more.
#pragma once
#include <string>
#include <vector>

#include "eval_frame/code_cache.h"
#include "eval_frame/region_lookup.h"

namespace md {

// No entry of the key fits: counts which guard failed, and tells of it where somebody listens. Throws PythonError(RecompileError)
// where config.error_on_recompile says so.
void report_recompile(CodeCache& cache, const CacheKey& key, const RegionPlace& place);

// Which guard of each entry of the key fails now, newest entry first, each text once.
std::vector<std::string> failing_guards(const CodeCache& cache, const CacheKey& key, const RegionPlace& place);

// Which limit leaves no room for another entry.
struct ReachedLimit {
  const char* flag;  // null: none
  int64_t limit;
};
ReachedLimit reached_limit(const CodeCache& cache, const CacheKey& key, const Policy& policy);

// The limit is reached: one warning for each key, or an error (PythonError): FailOnRecompileLimitHit under fullgraph and with
// config.fail_on_recompile_limit_hit, Unsupported under error_on_graph_break(True).
void report_limit(CodeCache& cache, const CacheKey& key, const RegionPlace& place, const ReachedLimit& reached);

// Which guard of each entry fails, as lines of a message; "" where there are none.
std::string failure_lines(const CodeCache& cache, const CacheKey& key, const RegionPlace& place);

}  // namespace md
