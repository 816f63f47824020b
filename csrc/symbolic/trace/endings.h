// How a trace ends where it cannot continue: the region ends there, or the trace is repeated up to an earlier step.
#pragma once
#include <optional>
#include <set>
#include <span>

#include "symbolic/breaks/graph_break.h"
#include "symbolic/state/operator_sites.h"

namespace md {

struct Policy;

// Where a region ends.
enum class EndPlace : uint8_t {
  Here,           // before the current instruction, with the current state
  ThisStep,       // likewise, without what the instruction has added to the region
  Instruction,    // before the outermost pending instruction, of which the current one is part
  OurCall,        // before the call of the outermost of the package's own functions
  InnermostCall,  // before the call of the innermost frame
  OutermostCall,  // before the call that the region's own frame makes
  StricterCall,   // before the call of the first frame with fullgraph
  FirstRaise,     // before the instruction that first raised the exception
};
enum class EndPolicy : uint8_t { Own, Callers };

enum class Ending : uint8_t {
#define MD_ENDING(name, condition, place, policy, is_reported, meaning) name,
#include "symbolic/trace/endings.def"
#undef MD_ENDING
};

struct EndingRow {
  const char* name;
  EndPlace place;
  EndPolicy policy;
  bool is_reported;
  const char* meaning;
};
std::span<const EndingRow> ending_rows();
const EndingRow& ending_row(Ending ending);

// The facts that decide the ending.
struct EndingFacts {
  bool breaks = false;             // otherwise the interpreter raises
  bool skips = false;              // the program asked to run the innermost frame uncaptured
  bool is_inside = false;          // the instruction has made a call or an irreversible change
  bool has_appended = false;       // the instruction has added to the region
  bool raised_before = false;      // the exception was already raised in this region
  bool in_ours = false;            // the innermost frames are functions of this package
  bool in_stricter = false;        // inside a frame with fullgraph, while the region's own frame has none
  bool inlined = false;            // inside an inlined frame
  bool nests = false;              // nested_graph_breaks
  bool fullgraph = false;          // of the innermost frame
  bool breaks_are_errors = false;  // likewise
};
Ending decide_ending(const EndingFacts& facts);

// --- repeating a trace

// Restarts the trace, to end at this step.
struct RestartSignal {
  int64_t step;
  GraphBreak graph_break;
  const Policy* policy;       // in force at the break
  bool in_generator = false;  // the break is in the body of a generator
  // The outcome of the step itself, after it had added to the region: a break, or an exception that the interpreter
  // raises.
  bool is_own = false, raises = false;
  std::optional<GraphBreak> if_unraised{};  // CapturedRegion::if_unraised
};

// Restarts the trace with this operator among them.
struct DeclinedSignal {
  OperatorSite site;
};

// What a repeated trace does in another way than the first.
struct TraceChoices {
  OperatorSites declined;
  bool unites_tensors = false;   // sources of one tensor share its value, under an ALIAS guard
  bool keeps_histories = false;  // Graph::keeps_histories(), for a break that a trace before has met
};

}  // namespace md
