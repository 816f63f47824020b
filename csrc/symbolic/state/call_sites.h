// Where a region takes its inputs from, and what it calls at run time: host calls of its graph, and output among its
// effects.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "guards/source.h"
#include "snapshot/snapshot.h"

namespace md {

// The origin of a graph input: a source, or a computed number.
struct RegionInput {
  const Source* source = nullptr;
  RecipeId computed = kNoRecipe;
};

// A frame that must be visible to the code run by a host call.
struct HostCallFrame {
  PyCodeObject* code = nullptr;  // borrowed: the function keeps it alive while the region's guards hold
  // the frame's function; for a function created in the trace, the one whose globals it uses
  const Source* function = nullptr;
  // created in the trace: a null `function` then means the globals of the region's own function
  bool made_here = false;
  int index = 0;          // the calling instruction
  int return_index = -1;  // an instruction through which the frame can be left
};
struct HostCallSite {
  std::vector<HostCallFrame> frames;  // outermost first; the first is the region's own frame
  // The state of the frames if the call raises, where that is observable: the outermost ones, up to a frame suspended
  // in a call of C code. The others have no handlers. Its outputs are further operands of the node.
  std::optional<Snapshot> failure;
  // The locals of all frames, one FrameState per frame, for code that inspects them. Its outputs are the last operands
  // of the node.
  Snapshot locals;
  const Source* self = nullptr;  // of the object whose method is called
};

// A call that writes something out, run among the effects (deferred_output.h).
struct OutputSite {
  // `failure` is the state after the call, null if it is unobservable; it has no effects.
  HostCallSite site;
  int first_local = 0, first_after = 0, end = 0;  // the graph outputs that the two snapshots refer to
  bool runs_python = false;
  // Pairs of recipes of one object: in the state after the call or among the locals, and in the region's snapshot.
  std::vector<std::pair<RecipeId, RecipeId>> same_after, same_locals;
};

}  // namespace md
