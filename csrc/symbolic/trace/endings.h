// How a trace may end where it cannot go on: as a region that ends there, or by being done again up to an earlier step.
#pragma once
#include <set>
#include <span>

#include "symbolic/state/region.h"

namespace md {

// Where a region ends.
enum class EndPlace : uint8_t {
  Here,           // before the current instruction, as it is
  ThisStep,       // likewise, without what it has added to the region
  Instruction,    // before the instruction of a frame that nothing waits for, below which the current one is
  OurCall,        // before the call of the outermost of our own functions
  InnermostCall,  // before the call of the innermost frame
  OutermostCall,  // before the call that the region's own frame makes
  StricterCall,   // before the call of the first frame with fullgraph
  FirstRaise,     // before the instruction that raised the exception first
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

// What the ending depends on.
struct EndingFacts {
  bool breaks = false;             // else Python raises
  bool skips = false;              // the program asked for the innermost frame to be left to Python
  bool is_inside = false;          // the instruction has called something or changed what it cannot change back
  bool has_appended = false;       // it has added to what the region is made of
  bool raised_before = false;      // the exception, in this region
  bool in_ours = false;            // the innermost frames are functions of ours
  bool in_stricter = false;        // below a frame with fullgraph, which the region's own has not
  bool inlined = false;            // not in the region's own frame
  bool nests = false;              // nested_graph_breaks
  bool fullgraph = false;          // of the innermost frame
  bool breaks_are_errors = false;  // likewise
};
Ending decide_ending(const EndingFacts& facts);

// --- a trace that is done again

// It ends at this step.
struct RestartSignal {
  int64_t step;
  GraphBreak graph_break;
  const Policy* policy;       // in force at the break
  bool in_generator = false;  // the break was met in the body of a generator
  // What the step itself came to, once it had appended something: a break, or an exception that Python raises.
  bool is_own = false, raises = false;
};

// Operators whose methods are not inlined but called one after another, because one of them gives NotImplemented.
struct OperatorSite {
  const Bytecode* bytecode;
  int index;
  auto operator<=>(const OperatorSite&) const = default;
};
using OperatorSites = std::set<OperatorSite>;
// This one is among them.
struct DeclinedSignal {
  OperatorSite site;
};

}  // namespace md
