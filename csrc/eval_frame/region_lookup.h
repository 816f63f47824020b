// Finding the region for a place, or capturing it: the code cache, the recompile limit, policy errors, the logs.
#pragma once
#include "eval_frame/hand_over.h"
#include "eval_frame/region_entry.h"
#include "guards/guard_memory.h"
#include "snapshot/policy.h"

namespace md {

struct RegionPlace {
  const Bytecode& bytecode;
  int index;
  int depth;
  LocalsView view;
  const Policy* policy;
  CallerChainPtr callers;  // null: none
};

// A region, and what its guards know of the objects that sources name: valid until anything else is looked up (null: nothing).
struct FoundRegion {
  RegionEntryPtr entry;
  const GuardMemory* memory = nullptr;
};

// Null, and why: the limit is reached (one warning), capture failed by a bug of ours (one warning), nothing is left to capture.
// Throws PythonError: Unsupported or FailOnRecompileLimitHit under a policy that makes breaks errors, a backend's exception,
// InternalError when config.suppress_internal_errors is off.
FoundRegion find_or_capture(const RegionPlace& place, HandOver& why);

// Why a region that only hands over does so.
inline HandOver hand_over_of(const CapturedRegion& region) {
  return region.skips_frame ? HandOver::skipped : HandOver::worthless;
}

}  // namespace md
