// The result of one trace, which starts at one instruction of one code object.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/input_write.h"
#include "guards/guard_set.h"
#include "guards/guarded_sizes.h"
#include "snapshot/snapshot.h"
#include "symbolic/breaks/graph_break.h"
#include "symbolic/state/call_sites.h"
#include "symbolic/state/stretch.h"
#include "symbolic/state/trace_start.h"

namespace md {

enum class ExitKind : uint8_t {
  Return,   // the trace reached the end of the code
  Break,    // the driver executes the instruction at which the region ends, then continues
  Raise,    // likewise, but the instruction raises: no record, no count, no error
  Bailout,  // nothing worth compiling: bail out, the interpreter runs the rest of this frame
  Loop,     // as for Break, at the header of a loop whose body is another region: no record, no count, no error
};

inline const char* exit_name(ExitKind exit) {
  switch (exit) {
    case ExitKind::Return:
      return "return";
    case ExitKind::Break:
      return "break";
    case ExitKind::Raise:
      return "raise";
    case ExitKind::Loop:
      return "loop";
    case ExitKind::Bailout:
      break;
  }
  return "hand over";
}

struct CapturedRegion {
  std::shared_ptr<Graph> graph;
  const TensorFamily* family = nullptr;  // whose tensors and names backends and logs see
  bool has_foreign_tensors = false;      // of a family whose objects contain no tensor of ours
  bool has_scalars = false;              // of a family that has scalars for results of rank 0
  uint32_t watched_flags = 0;       // floating-point exceptions that the program sees (tensor/parallel/float_flags.h)
  std::vector<RegionInput> inputs;  // one per graph input
  std::vector<InputWrite> input_writes;  // which outputs are written to inputs at the exit and nowhere before
  std::vector<HostCallSite> host_calls;  // those of the graph, in order
  std::vector<OutputSite> outputs;       // indexed by Effect::start
  uint64_t trace = 0;                    // Tracer::number()
  std::string violations;                // dimensions marked dynamic that are not; empty if there are none
  GuardSet guards;
  GuardedSizes sizes;  // those whose relations may be guarded
  Snapshot snapshot;
  ExitKind exit = ExitKind::Bailout;
  std::optional<GraphBreak> graph_break;  // set for ExitKind::Break
  // Set if the instruction at which it ends raises, as far as the capture knows: the break that it is if it does not.
  std::optional<GraphBreak> if_unraised;
  // in force where the break was found, possibly in a frame inlined below the region's end
  const Policy* break_policy = nullptr;
  int64_t instructions = 0;         // traced before the end of the region, including those of inlined functions
  bool goes_back = false;           // took a back edge
  bool met_operations = false;      // traced a tensor op, even if its result is unused
  bool is_strict_inside = false;    // part of it is under error_on_graph_break
  bool answers_as_capture = false;  // asked something that the library answers otherwise in eager Python
  bool skips_frame = false;         // the program asked to run this frame uncaptured
  bool rest_uncaptured =
      false;                   // the program asked to run the rest of the innermost frame, after the break, uncaptured
  bool is_cheap_loop = false;  // the body of a loop that Python runs in less than a region costs
  int depth = 1;               // simultaneous frames, including the region's own
  int repeated_records = 0;    // records of invisible callers that break again at the same place
  std::vector<const Bytecode*> entered;  // the other functions that the region enters; its guards keep them alive
  // What was traced of its own frame in vain, or the cheap loop; exit is Bailout.
  std::optional<Stretch> workless;

  // Returns true if the user's frames must be linked while the region runs or exits.
  bool needs_frame() const {
    return !host_calls.empty() || std::ranges::any_of(outputs, [](const OutputSite& each) { return each.runs_python; });
  }
  // Returns true if it ends in its own frame, and leaves nothing behind but slots, the stack and effects.
  bool leaves_plainly() const {
    return snapshot.frames.size() == 1 && snapshot.returns.empty() && outputs.empty() && !needs_frame();
  }
};

// Traces the bytecode ahead of execution. Runs no user code and modifies no object. Throws Error(Internal) for a bug,
// PythonError for KeyboardInterrupt.
// ends_at_loops: long loops are not unrolled.
CapturedRegion capture_region(const TraceStart& start, bool ends_at_loops);

}  // namespace md
