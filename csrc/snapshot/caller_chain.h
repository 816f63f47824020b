// The suspended callers of the frame in which a region starts, so that a trace can continue in them: frames
// materialised at a nested graph break. Each adds to the view, after the slots of the frame itself: its function, the
// value of its continuation (unset if it has none), its locals and cells, its value stack.
#pragma once
#include <memory>
#include <vector>

#include "bytecode/bytecode.h"
#include "snapshot/policy.h"
#include "snapshot/snapshot.h"

namespace md {

struct CallerPlace {
  const Bytecode* bytecode;
  int index;  // the suspended instruction
  int depth;
  ContinuationKind continuation;  // how it uses the result of the frame above
  const Policy* policy;
  int slot_count() const { return 2 + bytecode->slot_count() + depth; }
  friend bool operator==(const CallerPlace&, const CallerPlace&) = default;
};

// Innermost first. Ends before a code object that occurs twice, so each depth of a recursion
// finds the regions of the others.
using CallerChain = std::vector<CallerPlace>;
using CallerChainPtr = std::shared_ptr<const CallerChain>;

inline int slot_count(const CallerChain& chain) {
  int count = 0;
  for (const CallerPlace& caller : chain) count += caller.slot_count();
  return count;
}

inline bool same_chain(const CallerChainPtr& a, const CallerChainPtr& b) { return a == b || (a && b && *a == *b); }

}  // namespace md
