// Turns the final state of a trace into a region: recipes, frame states, effects, graph outputs.
#pragma once
#include <unordered_map>

#include "symbolic/state/region.h"
#include "symbolic/trace/tracer.h"

namespace md {

struct RegionEnd {
  ExitKind exit;
  std::optional<GraphBreak> graph_break;
  ValuePtr result;                         // set for ExitKind::Return
  const RestartSignal* restart = nullptr;  // the signal that makes the region end at this step; null for a first trace
};

class RegionFinisher {
 public:
  // Of the tracer's parts it modifies only the graph and the guards.
  explicit RegionFinisher(Tracer& tracer)
      : tracer_(tracer),
        entry_(tracer.entry()),
        frames_(tracer.frames()),
        shapes_(tracer.shapes()),
        effects_(tracer.effects()),
        deferred_(tracer.outputs()),
        pending_(tracer.pending()) {}
  CapturedRegion finish(RegionEnd end);
  // The state in which an exception of the current instruction finds the frames; the trace continues afterwards.
  // `stack` is that of the innermost described frame before the instruction; `outputs` receives the values of the
  // Output recipes.
  Snapshot describe_failure(const std::vector<ValuePtr>& stack, std::vector<ValueRef>& outputs);
  // The current locals of every frame, as far as they can be described.
  Snapshot describe_locals(std::vector<ValueRef>& outputs);
  // The frames after a call by the current instruction, without effects; `stack` is that of the innermost described
  // frame at that point. Unless goes_on, stack items that an exception drops are not rebuilt.
  Snapshot describe_output(const std::vector<ValuePtr>& stack, bool goes_on, std::vector<ValueRef>& outputs);
  // The tensors described last: the same objects in every snapshot of the region as long as they are not written.
  std::vector<std::pair<ValuePtr, RecipeId>> made_values() const;

 private:
  RecipeId recipe_of(const ValuePtr& value);
  void describe_value(const ValuePtr& value, Recipe& recipe);
#define MD_VALUE(name, doc) void describe(name##Value* value, Recipe& recipe);
#include "symbolic/values/value_kinds.def"
#undef MD_VALUE
  // The object at the source is kept.
  void pass_through(const Source* source, Recipe& recipe);
  void describe_converted(const TensorValue& tensor, Recipe& recipe);
  void describe_size(Dim dim, Recipe& recipe);
  void bind_symbols(CapturedRegion& region);
  void describe_class(const TracedClass& made, Recipe& recipe);
  void check_iterated(const IteratorValue& iterator);
  void check_entries(const IteratorValue& iterator);
  void describe_generator(const IteratorValue& generator, Recipe& recipe);
  void describe_exhausted(const IteratorValue& iterator, Recipe& recipe);
  void describe_range(const IteratorValue& iterator, Recipe& recipe);
  void add_copied(Recipe& recipe, const ConstructedValue& made, PyTypeObject* type);
  void add_attributes(Recipe& recipe, const OwnAttributes& attributes);
  void describe_exception(const ValuePtr& value, Recipe& recipe);
  RecipeId constant_recipe(BorrowedRef object);
  void end_before_user_key(BorrowedRef key);
  RecipeId key_recipe(BorrowedRef key);
  RecipeId null_recipe();
  void add_parts(Recipe& recipe, const std::vector<ValuePtr>& values);
  void check_generators();
  void add_frames(size_t depth);
  FrameState locals_of(const SymbolicFrame& frame, bool innermost);
  std::vector<SlotValue> slots_of(const std::vector<std::pair<int, ValuePtr>>& values);
  FrameState root_state(bool innermost);
  FrameState returned_state();
  FrameState inner_state(size_t depth, bool innermost);
  // A dead intermediate of the graph is left unset; all other slots keep their values.
  bool may_leave_unset(const SymbolicFrame& frame, int slot, const ValuePtr& value, bool innermost) const;
  void add_effects();
  bool writes_at_exit() const;
  void add_tensor_writes();
  std::vector<InputWrite> input_writes() const;
  RecipeId output_recipe(ValueRef value);
  bool is_freed(ValueRef output);
  void add_frames_at_call(const std::vector<ValuePtr>& stack, bool goes_on);
  void check_outputs();
  void add_outputs(CapturedRegion& region);

  // The stack of a frame, or its replacement while an exception is described.
  const std::vector<ValuePtr>& stack_of(size_t depth) const {
    return stacks_.empty() ? frames_[depth].stack : stacks_[depth];
  }

  Tracer& tracer_;  // reading values adds guards
  const EntryState& entry_;
  const FrameStack& frames_;
  const ShapeEnv& shapes_;
  const SideEffects& effects_;
  const DeferredOutput& deferred_;
  const PendingCalls& pending_;
  std::vector<std::vector<ValuePtr>> stacks_;
  // Repeats the trace, to end at this step. The reason is used if the region had reached the function's end.
  [[noreturn]] void end_before(int64_t step, BreakReason reason, const char* what);
  [[noreturn]] void end_before(const IteratorValue& generator);
  [[noreturn]] void end_before_raise(const ValuePtr& exception);
  Snapshot snapshot_;
  ExitKind exit_ = ExitKind::Break;
  const GraphBreak* graph_break_ = nullptr;  // the break that ends the region
  const RestartSignal* restart_ = nullptr;   // RegionEnd
  std::unordered_map<const Value*, RecipeId> recipes_;
  std::vector<ValuePtr> keep_alive_;  // recipes_ is keyed by address
  std::vector<ValueRef> outputs_;
  std::vector<std::pair<int, const Node*>> written_;  // outputs, and the inputs that hold them afterwards
};

}  // namespace md
