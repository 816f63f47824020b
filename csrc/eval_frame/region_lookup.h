// Finds or captures the region for a place: the code cache, the recompile limit, policy errors, the logs.
#pragma once
#include <optional>

#include "eval_frame/bailout.h"
#include "eval_frame/region_entry.h"
#include "guards/fetched_objects.h"
#include "snapshot/policy.h"

namespace md {

struct RegionPlace {
  const Bytecode& bytecode;
  int index;
  int depth;
  LocalsView view;
  const Policy* policy;
  CallerChainPtr callers;  // null if there are none
};

// Whether it enters functions that are monitored by a sys.monitoring tool, which must run as frames.
bool enters_monitored(const CapturedRegion& region);

// Null, with the reason in `why`: the limit is reached (one warning), capture failed by an internal bug (one warning),
// or nothing is left to capture. Throws PythonError: Unsupported or FailOnRecompileLimitHit under a policy that makes
// breaks errors, a backend's exception, InternalError if config.suppress_internal_errors is off.
// For an existing region, `fetched` has the objects that its guards found.
RegionEntryPtr find_or_capture(const RegionPlace& place, Bailout& why, FetchedObjects& fetched);

// Whether anything but a return follows a stretch. What handles its exceptions does not count.
bool may_go_on(const Bytecode& bytecode, const Stretch& stretch);
// From the target of a back edge to its jump.
std::optional<Stretch> innermost_loop(const Bytecode& bytecode, int index);

// Why a region that is left to Python bails out.
inline Bailout bailout_of(const RegionEntry& entry) {
  if (entry.poor_frames.are_known()) return Bailout::poor_frame;
  if (entry.region.is_cheap_loop) return Bailout::cheap_loop;
  return entry.region.skips_frame ? Bailout::skipped : Bailout::worthless;
}

}  // namespace md
