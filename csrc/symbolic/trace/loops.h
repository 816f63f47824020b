// The loops that a trace goes through. Each is unrolled, or the region ends at its header (exit Loop) and the body is a
// region of its own; the costs of loop_costs.def decide. Decisions outlive the repetition of a trace.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bytecode/bytecode.h"
#include "graph/graph.h"
#include "symbolic/state/loop_decision.h"
#include "symbolic/state/trace_start.h"
#include "symbolic/values/value.h"

namespace md {

class Source;
class Tracer;
struct CallArgs;
struct CapturedRegion;

// What a region saves Python, less what it copies for writes: loop_costs.def.
int64_t saved_work(const CapturedRegion& region);
// What a run saves, less what entering the region costs. Without a plan nothing is saved.
int64_t profit_of(const CapturedRegion& region, bool has_plan);
// Whether saved work is less than a region costs at each run, or less than one operation.
bool is_cheap(int64_t saved);
bool saves_nothing(int64_t saved);
// Whether a range, or an iterator that knows its length, has more elements than a short loop.
bool is_long(BorrowedRef iterable);
LoopDecision left_to_python(const Bytecode& bytecode, int header, int64_t saved);
// Whether a loop around the one with this header has this instruction outside of that one.
bool share_loop(const Bytecode& bytecode, int header, int index);
// The header of the loop of which a region is a whole iteration, if it starts and ends at these instructions.
std::optional<int> header_of_body(const Bytecode& bytecode, int start, int end);

// The loops of the capture that this thread is making.
class LoopScope {
 public:
  // may_end: unless a backend or policy wants every loop unrolled.
  LoopScope(const TraceStart& start, bool may_end);
  ~LoopScope();
  LoopScope(const LoopScope&) = delete;
  LoopScope& operator=(const LoopScope&) = delete;
  static LoopScope& current();

  void begin_trace();
  // Before each instruction of the innermost frame. ends_well: a region that ends here would continue here.
  // Throws RestartSignal or BreakSignal to end the region at a header.
  void before_step(Tracer& tracer, const Instruction& instruction, bool ends_well);
  // The element with which the loop at this instruction goes on.
  void note_item(Tracer& tracer, const ValuePtr& item);
  // Whether the region ends at this step because of a loop.
  bool ends_at(int64_t step) const { return end_step_ == step; }
  // A call of range(). Breaks silently where the range is that of a loop found to be long: the bounds are then read
  // when the loop runs, and no guard depends on them.
  void note_range(Tracer& tracer, const CallArgs& args);
  // An object is found by this value, as an index, a key or part of a name: a short loop is unrolled if it is the
  // loop's variable.
  void note_choice(const ValuePtr& value);
  // Records the decisions; called once, when the capture is complete. in_vain: it was given up.
  void report(bool in_vain);
  // Whether the source is a number that the loop around the region's start computes anew in each iteration: the loop's
  // variable, or a local that the body overwrites. It is a run-time scalar from the first capture on.
  // Likewise a range on the stack, of a long loop or within a loop.
  bool varies(const Source* source, BorrowedRef object) const;

 private:
  struct Work {
    int64_t instructions = 0, nodes = 0, guards = 0;
    int64_t cost() const;
    Work operator-(const Work& other) const;
  };
  struct Place {
    const Bytecode* bytecode = nullptr;
    int64_t entry_step = 0;  // identifies the frame
    int header = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  // One run of a loop, from its first iteration on.
  struct Visit {
    Place place;
    bool may_end = false;
    bool is_specialised = false;  // the body is specialised on the loop's variable
    bool is_chosen = false;       // what the body uses is found by the variable
    int64_t step = 0;             // of the header's first instruction
    int64_t range_step = 0;       // of the last call of range() before it
    int64_t iterations = 0;       // begun
    std::optional<int64_t> total;
    Work start, last;
    ValuePtr item;
  };
  // Why a loop is unrolled, or not: texts in loops.cpp.
  enum class Reason : uint8_t { Work, Specialised, Elsewhere, Scalars, InVain };
  struct Decided {
    Place place;
    SourceLine line;
    LoopFate fate;
    Reason reason;
    int64_t iterations, cost_of_each, cost, most;
    bool is_known;  // the number of iterations
  };
  static std::string why(const Decided& decided);
  static Work work_of(Tracer& tracer);
  bool is_body_of(Tracer& tracer, const Place& place) const;
  void begin(Tracer& tracer, const Place& place, bool ends_well);
  void go_round(Tracer& tracer, Visit& visit);
  void record(Tracer& tracer, const Place& place, Decided decided);
  Visit* find(const Place& place);

  const TraceStart& start_;
  const bool may_end_;
  LoopScope* const outer_;     // of the capture that this one interrupts
  std::vector<bool> written_;  // slots that the loops around the start overwrite; empty: it is no start of a body
  int item_slot_ = -1;         // of the loop's variable, on the stack
  bool starts_in_loop_ = false;
  std::vector<Visit> visits_;  // at most one of each loop in each running frame
  std::optional<Place> back_;  // where the last instruction may have jumped back to
  std::vector<Decided> decided_;
  int64_t end_step_ = -1;
  int64_t range_step_ = 0;         // of the last call of range() with bounds that are not constants
  std::set<int64_t> long_ranges_;  // steps of those of long loops
};

}  // namespace md
