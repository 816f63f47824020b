// What one trace captured, starting at one instruction of one code object.
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
  Return,    // the trace reached the end
  Break,     // the driver executes the instruction at which the region ends, and goes on
  Raise,     // likewise, but the instruction raises: no record, no count, no error
  HandOver,  // nothing worth running: the rest of this frame belongs to the interpreter
};

inline const char* exit_name(ExitKind exit) {
  switch (exit) {
    case ExitKind::Return:
      return "return";
    case ExitKind::Break:
      return "break";
    case ExitKind::Raise:
      return "raise";
    case ExitKind::HandOver:
      break;
  }
  return "hand over";
}

// What a graph input is given: what a source fetches, or a computed number.
struct RegionInput {
  const Source* source = nullptr;
  RecipeId computed = kNoRecipe;
};

// A frame that is to be seen by the code that a host call runs.
struct HostCallFrame {
  PyCodeObject* code = nullptr;      // borrowed: the function has it while the region's guards hold
  const Source* function = nullptr;  // whose frame it is, or for one that the region made, whose globals it has
  bool made_here = false;            // `function` may be null then: the globals are the region's own function's
  int index = 0;                     // the instruction that calls
  int return_index = -1;             // an instruction by which the frame can be left
};
struct HostCallSite {
  std::vector<HostCallFrame> frames;  // outermost first; the first is the region's own
  // What the frames hold when the call raises, where that can be seen: the outermost of them, up to one that waits in a call
  // of C code. The others have no handlers. Its outputs are further operands of the node.
  std::optional<Snapshot> failure;
  // Locals of all frames, for whoever looks; one FrameState for each. Its outputs are the last operands of the node.
  Snapshot locals;
};

// A call that writes something out, made among the effects (deferred_output.h).
struct OutputSite {
  // `failure` is the state after the call, null where nobody can see it; it has no effects.
  HostCallSite site;
  int first_local = 0, first_after = 0, end = 0;  // the graph outputs that the two snapshots name
  bool runs_python = false;
  // Of a value in the state after the call, or among the locals, and of the same object in the region's snapshot.
  std::vector<std::pair<RecipeId, RecipeId>> same_after, same_locals;
};

struct CapturedRegion {
  std::shared_ptr<Graph> graph;
  std::vector<RegionInput> inputs;       // one for each graph input
  std::vector<HostCallSite> host_calls;  // the graph's, in order
  std::vector<OutputSite> outputs;       // Effect::start is the place in it
  uint64_t trace = 0;                    // Tracer::number()
  std::string violations;                // dimensions that the program marked dynamic and that are not; empty: none
  GuardSet guards;
  Snapshot snapshot;
  ExitKind exit = ExitKind::HandOver;
  std::optional<GraphBreak> graph_break;  // Break
  const Policy* break_policy = nullptr;   // in force where the break was met, which may be below the region's end
  int64_t instructions = 0;               // before the one at which the region ends, those of inlined functions too
  bool goes_back = false;                 // through a back edge
  bool met_operations = false;            // on tensors, those that nobody needs among them
  bool is_strict_inside = false;          // some of it is under error_on_graph_break
  bool skips_frame = false;               // the program asked here for the frame to be left to Python
  bool leaves_rest = false;               // and here for what comes after the break, in the innermost frame
  int depth = 1;                          // frames at once, the region's own among them
  int repeated_records = 0;               // records of invisible callers that break again at the same place
  std::vector<const Bytecode*> entered;   // of the other functions that the region goes through; its guards keep them

  // The user's frames are to be linked while the region is run or left.
  bool needs_frame() const {
    return !host_calls.empty() || std::ranges::any_of(outputs, [](const OutputSite& each) { return each.runs_python; });
  }
};

// Where a trace starts.
struct TraceStart {
  const Bytecode& bytecode;
  int index;
  LocalsView view;  // at index 0 the arguments, cells not made; elsewhere the frame's slots and stack, and its callers'
  const Policy* policy;
  CallerChainPtr callers;  // null: none
  // Names of sources whose number was another one at an earlier capture here: it decides nothing in this one. Null: none.
  const std::set<std::string>* dynamic_sources = nullptr;
};

// Walks ahead of execution. Runs no user code and changes no object. Throws Error(Internal) for a bug, PythonError for KeyboardInterrupt.
CapturedRegion capture_region(const TraceStart& start);

}  // namespace md
