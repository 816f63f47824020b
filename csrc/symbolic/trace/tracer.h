// Traces the bytecode ahead of execution: steps through the instructions, decides how the region ends, and owns the parts that hold what is
// known. One handler per neutral instruction (translate_*.cpp); calls, methods and types go through registries, never through chains.
//  1. A handler either completes its instruction or leaves through graph_break() or raise_here(); the trace then ends at the instruction
//     with the state that it had before it, so a handler changes virtual objects only after it has read everything.
//  2. Reading an object means guarding what was read: use exact_type, constant_of, length_of, attribute ... never the object itself.
//  3. Nothing runs user code and no real object is changed.
#pragma once
#include <functional>
#include <memory>
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
#include "symbolic/state/region.h"
#include "symbolic/state/shape_env.h"
#include "symbolic/state/side_effects.h"
#include "symbolic/state/value_reader.h"
#include "symbolic/trace/endings.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/trace_log.h"

namespace md {

struct WrapperType;

// What asks an object for its elements may ask it for their number first, once it has its iterator.
enum class LengthHint : uint8_t { Unknown, NotAsked, Asked };
inline constexpr LengthHint kTupleHint = kTupleAsksForLength ? LengthHint::Asked : LengthHint::NotAsked;

class Tracer {
 public:
  Tracer(const TraceStart& start, const RestartSignal* restart, const OperatorSites& declined);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  CapturedRegion run();
  // One instruction of the innermost frame.
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
  // Of the parts, what is asked for most.
  GuardSet& guards() { return values_.guards(); }
  SourcePool& sources() { return values_.sources(); }
  Graph& graph() const { return builder_.graph(); }

  // --- where it is
  uint64_t number() const { return number_; }     // no other trace of the process has it
  int64_t step_number() const { return steps_; }  // from 1
  int64_t instruction_step() const {
    return instruction_step_;
  }  // of the instruction being traced that nothing waits for
  // That instruction has called something, or changed what it cannot change back.
  bool is_inside_instruction() const { return advanced_ || steps_ != instruction_step_; }
  // The instruction changes what it cannot change back: should it break after all, the region is traced again and ends before it.
  void cannot_undo() { advanced_ = true; }
  // Whether the operator of this instruction is one whose methods are called one after another.
  bool is_declined_operator() { return declined_.contains({frames_.innermost().bytecode, frames_.innermost().index}); }
  // Counts an element that was taken from an iterator; returns how many were.
  int64_t count_item() { return ++items_taken_; }

  // --- how it ends
  // The region ends before this step, which the driver executes; nothing is logged of it.
  [[noreturn]] void end_silently_before(int64_t step);
  // The region's own frame returns.
  void finish_with(ValuePtr result);

 private:
  // How much the trace has appended to what the region is made of.
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
  // Finishes the region here, or throws what makes the trace be done again up to where the row says.
  CapturedRegion carry_out(Ending ending, GraphBreak found, int64_t raised_step = 0);
  bool ends_below_restart() const { return restart_ != nullptr && steps_ == restart_->step && !restart_->is_own; }
  CapturedRegion finish(ExitKind exit, std::optional<GraphBreak> graph_break);
  bool calls_wrapper();
  void check_limits(const Instruction& instruction) const;

  const uint64_t number_;
  TraceLog trace_;
  const RestartSignal* restart_;  // null: the first trace
  const OperatorSites& declined_;
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
  int64_t items_taken_ = 0;
  bool saw_error_on_graph_break_ = false;  // an instruction under error_on_graph_break
  bool advanced_ = false;
  bool finished_ = false;
};

}  // namespace md
