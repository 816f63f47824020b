// Traces the bytecode ahead of execution: steps through the instructions, decides how the region ends, and owns the
// parts that hold the state. One handler per neutral instruction (opcodes/); calls, methods and types are found in
// registries, never by if-chains.
//   1. A handler either completes its instruction or leaves through graph_break() or raise_here(). The trace then ends
//      at the instruction with the state before it, so a handler modifies virtual objects only after all its reads.
//   2. Reading an object requires guarding what was read: use exact_type, constant_of, length_of, attribute ..., never
//      the object itself.
//   3. No user code runs, and no real object is modified.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cpython/version_facts.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/state/class_builder.h"
#include "symbolic/state/deferred_output.h"
#include "symbolic/state/entry_state.h"
#include "symbolic/state/frame_stack.h"
#include "symbolic/state/graph_builder.h"
#include "symbolic/state/key_table.h"
#include "symbolic/state/pending_calls.h"
#include "symbolic/state/shape_env.h"
#include "symbolic/state/side_effects.h"
#include "symbolic/state/value_reader.h"
#include "symbolic/trace/endings.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/trace_log.h"
#include "symbolic/trace/work_watch.h"

namespace md {

struct CapturedRegion;
enum class ExitKind : uint8_t;
struct WrapperType;

// Code that iterates over an object may ask for its length hint first, after it has created the iterator.
enum class LengthHint : uint8_t { Unknown, NotAsked, Asked };
inline constexpr LengthHint kTupleHint = kTupleAsksForLength ? LengthHint::Asked : LengthHint::NotAsked;

class Tracer {
 public:
  Tracer(const TraceStart& start, const RestartSignal* restart, const TraceChoices& choices);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  CapturedRegion run();
  // Traces one instruction of the innermost frame.
  void step();

  // --- the parts
  EntryState& entry() { return entry_; }
  const EntryState& entry() const { return entry_; }
  FrameStack& frames() { return frames_; }
  const FrameStack& frames() const { return frames_; }
  ClassBuilder& classes() { return classes_; }
  KeyTable& keys() { return keys_; }
  ValueReader& values() { return values_; }
  const ValueReader& values() const { return values_; }
  ShapeEnv& shapes() { return shapes_; }
  SideEffects& effects() { return effects_; }
  const SideEffects& effects() const { return effects_; }
  GraphBuilder& builder() { return builder_; }
  const GraphBuilder& builder() const { return builder_; }
  DeferredOutput& outputs() { return outputs_; }
  PendingCalls& pending() { return pending_; }
  const PendingCalls& pending() const { return pending_; }
  // Shortcuts to the most used members of the parts.
  GuardSet& guards() { return values_.guards(); }
  SourcePool& sources() { return values_.sources(); }
  Graph& graph() const { return builder_.graph(); }

  // --- where it is
  uint64_t number() const { return number_; }     // unique in the process
  int64_t step_number() const { return steps_; }  // from 1
  // The step of the outermost pending instruction, of which the current one is part.
  int64_t instruction_step() const { return instruction_step_; }
  // Returns true if that instruction has made a call, or an irreversible change.
  bool is_inside_instruction() const { return advanced_ || steps_ != instruction_step_; }
  // Marks the instruction as irreversible: if it breaks after all, the region is traced again and ends before it.
  void cannot_undo() { advanced_ = true; }
  // Returns true if the trace was restarted to do this instruction in its other way (OperatorSite).
  bool is_declined_operator() {
    return choices_.declined.contains({frames_.innermost().bytecode, frames_.innermost().index});
  }
  // Counts an element taken from an iterator; returns the new count.
  int64_t count_item() { return ++items_taken_; }

  // --- how it ends
  // Ends the region before this step, which the driver executes; nothing is logged.
  [[noreturn]] void end_silently_before(int64_t step);
  // The same before the pending instruction, below which an exception is raised that only the interpreter knows.
  [[noreturn]] void end_silently_before(const RaiseSignal& signal);
  // The region ends for this break, found below the instruction being traced, before that instruction or before the
  // call that its frame belongs to.
  [[noreturn]] void end_before_instruction(GraphBreak found, bool in_generator);
  // Returns from the region's own frame.
  void finish_with(ValuePtr result);

 private:
  // How much the trace has added to the region.
  struct Extent {
    size_t nodes, inputs, effects, outputs, host_calls;
    int guards;
    size_t relations;
    bool operator==(const Extent&) const = default;
  };
  Extent extent() const;
  EndingFacts ending_facts(const Extent& before);
  CapturedRegion end_at_break(const BreakSignal& signal, const Extent& before);
  CapturedRegion end_at_raise(const RaiseSignal& signal, const Extent& before);
  // An exception that ends the region.
  struct Raised {
    int64_t first_step;                     // that raised it before in the region; 0 if none did
    std::optional<GraphBreak> if_unraised;  // CapturedRegion::if_unraised
  };
  // Finishes the region here, or throws the signal that repeats the trace up to the place of the row.
  CapturedRegion carry_out(Ending ending, GraphBreak found, Raised raised = {}, bool in_generator = false);
  GraphBreak unraised(const RaiseSignal& signal) const;
  // Whether something between the current step and the pending instruction may catch an exception.
  bool may_be_caught_inside() const;
  bool is_at_restart() const { return restart_ != nullptr && steps_ == restart_->step; }
  bool ends_below_restart() const { return is_at_restart() && !restart_->is_own; }
  // The region of a trace that has added nothing to the graph.
  CapturedRegion leave(GraphBreak found);
  CapturedRegion give_up(const WorklessSignal& signal) const;
  CapturedRegion finish(ExitKind exit, std::optional<GraphBreak> graph_break);
  bool calls_wrapper();
  void check_limits(const Instruction& instruction);

  const uint64_t number_;
  TraceLog trace_;
  const RestartSignal* restart_;  // null for the first trace
  const TraceChoices& choices_;
  ClassBuilder classes_;
  EntryState entry_;
  FrameStack frames_;
  KeyTable keys_;
  ValueReader values_;
  ShapeEnv shapes_;
  SideEffects effects_;
  GraphBuilder builder_;
  DeferredOutput outputs_;
  PendingCalls pending_;
  ValuePtr result_;
  int64_t steps_ = 0;
  int64_t instruction_step_ = 0;
  size_t instruction_depth_ = 1;  // frames at the start of that instruction
  int64_t items_taken_ = 0;
  bool saw_error_on_graph_break_ = false;  // an instruction under error_on_graph_break was traced
  bool advanced_ = false;
  bool finished_ = false;
  WorkWatch work_;
};

}  // namespace md
