// The result of one trace, which starts at one instruction of one code object.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "guards/guard_set.h"
#include "snapshot/caller_chain.h"
#include "snapshot/snapshot.h"
#include "symbolic/breaks/graph_break.h"

namespace md {

enum class ExitKind : uint8_t {
  Return,   // the trace reached the end of the code
  Break,    // the driver executes the instruction at which the region ends, then continues
  Raise,    // likewise, but the instruction raises: no record, no count, no error
  Bailout,  // nothing worth compiling: bail out, the interpreter runs the rest of this frame
};

inline const char* exit_name(ExitKind exit) {
  switch (exit) {
    case ExitKind::Return:
      return "return";
    case ExitKind::Break:
      return "break";
    case ExitKind::Raise:
      return "raise";
    case ExitKind::Bailout:
      break;
  }
  return "hand over";
}

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

struct CapturedRegion {
  std::shared_ptr<Graph> graph;
  std::vector<RegionInput> inputs;       // one per graph input
  std::vector<HostCallSite> host_calls;  // those of the graph, in order
  std::vector<OutputSite> outputs;       // indexed by Effect::start
  uint64_t trace = 0;                    // Tracer::number()
  std::string violations;                // dimensions marked dynamic that are not; empty if there are none
  GuardSet guards;
  Snapshot snapshot;
  ExitKind exit = ExitKind::Bailout;
  std::optional<GraphBreak> graph_break;  // set for ExitKind::Break
  // in force where the break was found, possibly in a frame inlined below the region's end
  const Policy* break_policy = nullptr;
  int64_t instructions = 0;       // traced before the end of the region, including those of inlined functions
  bool goes_back = false;         // took a back edge
  bool met_operations = false;    // traced a tensor op, even if its result is unused
  bool is_strict_inside = false;  // part of it is under error_on_graph_break
  bool skips_frame = false;       // the program asked to run this frame uncaptured
  bool rest_uncaptured =
      false;                 // the program asked to run the rest of the innermost frame, after the break, uncaptured
  int depth = 1;             // simultaneous frames, including the region's own
  int repeated_records = 0;  // records of invisible callers that break again at the same place
  std::vector<const Bytecode*> entered;  // the other functions that the region enters; its guards keep them alive

  // Returns true if the user's frames must be linked while the region runs or exits.
  bool needs_frame() const {
    return !host_calls.empty() || std::ranges::any_of(outputs, [](const OutputSite& each) { return each.runs_python; });
  }
};

// The starting point of a trace.
struct TraceStart {
  const Bytecode& bytecode;
  int index;
  // at index 0 the arguments, cells not created yet; elsewhere the slots and stacks of the frame and its callers
  LocalsView view;
  const Policy* policy;
  CallerChainPtr callers;  // null if there are none
  // Names of sources whose number differed at an earlier capture here, so it is not specialised in this one. Null:
  // none.
  const std::set<std::string>* dynamic_sources = nullptr;
};

// Traces the bytecode ahead of execution. Runs no user code and modifies no object. Throws Error(Internal) for a bug,
// PythonError for KeyboardInterrupt.
CapturedRegion capture_region(const TraceStart& start);

}  // namespace md
