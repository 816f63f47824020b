#include "symbolic/exit/region_finisher.h"
#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/trace/outermost_frame.h"

#include "base/config.h"
#include "graph/failing_ops.h"
#include "graph/passes.h"
#include "graph/symbols.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/host_call_sites.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/state/deferred_output.h"
#include "symbolic/trace/endings.h"
#include "symbolic/values/value_check.h"
#include "tensor/parallel/float_flags.h"

#include <algorithm>

namespace md {

// Symbols that are not sizes of a graph input become inputs of their own. If every symbol was specialised to a number,
// the graph is rewritten with the numbers.
void RegionFinisher::bind_symbols(CapturedRegion& region) {
  region.sizes = shapes_.sizes();
  SymbolList symbols = symbols_of(tracer_.graph());
  if (symbols.symbols().empty()) return;
  std::vector<int64_t> numbers;
  for (Dim symbol : symbols.symbols())
    if (std::optional<int64_t> number = shapes_.fixed(symbol)) numbers.push_back(*number);
  if (numbers.size() == symbols.symbols().size()) {
    try {
      tracer_.builder().replace_graph(with_numbers(tracer_.graph(), symbols, numbers));
      return;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Internal) throw;
    }
  }
  std::vector<SymbolPlace> places = symbol_places(tracer_.graph(), symbols);
  for (size_t i = 0; i < places.size(); ++i) {
    Dim symbol = symbols.symbols()[i];
    if (places[i].input >= 0 || shapes_.is_unbacked(symbol)) continue;
    tracer_.graph().add_scalar_input(symbol.str(), Scalar::Kind::Int)->size = symbol;
    ValuePtr number = size_value(tracer_, symbol);
    region.inputs.push_back({nullptr, recipe_of(number)});
  }
}

bool RegionFinisher::may_leave_unset(const SymbolicFrame& frame, int slot, const ValuePtr& value,
                                     bool innermost) const {
  auto* tensor = as<TensorValue>(value);
  if (tensor == nullptr || tensor->source != nullptr) return false;
  if (config().keep_dead_locals || frame.bytecode->observes_locals()) return false;
  // A caller continues after its call; slots that its own handler may read are live at the call as well.
  return !frame.bytecode->is_live(innermost ? frame.index : frame.next, slot) &&
         !frame.bytecode->is_live(frame.index, slot);
}

std::vector<SlotValue> RegionFinisher::slots_of(const std::vector<std::pair<int, ValuePtr>>& values) {
  std::vector<SlotValue> slots;
  for (const auto& [slot, value] : values)
    slots.push_back({slot, value->kind == ValueKind::Null ? null_recipe() : recipe_of(value)});
  return slots;
}

namespace {

FrameState place_of(const SymbolicFrame& frame) {
  FrameState state;
  state.bytecode = frame.bytecode;
  state.index = frame.index;
  state.executed = frame.executed();
  state.policy = frame.policy;
  return state;
}

}  // namespace

FrameState RegionFinisher::root_state(bool innermost) {
  const SymbolicFrame& frame = frames_.root();
  const std::vector<ValuePtr>& stack = stack_of(0);
  FrameState state = place_of(frame);
  for (int slot = 0; slot < static_cast<int>(frame.slots.size()); ++slot) {
    const ValuePtr& value = frame.slots[slot];
    if (value == entry_.slots()[slot]) continue;
    bool unset = may_leave_unset(frame, slot, value, innermost);
    state.slots.push_back({slot, unset ? null_recipe() : recipe_of(value)});
  }
  state.keep_stack = stack == entry_.stack();
  if (!state.keep_stack)
    for (const ValuePtr& value : stack) state.stack.push_back(recipe_of(value));
  return state;
}

FrameState RegionFinisher::returned_state() {
  EntryState::ChangedSlots changed = changed_slots(tracer_);
  FrameState state = place_of(frames_.root());
  state.slots = slots_of(changed.values);
  state.owns_moved = changed.owns_moved;
  return state;
}

FrameState RegionFinisher::inner_state(size_t depth, bool innermost) {
  const SymbolicFrame& frame = frames_[depth];
  FrameState state = place_of(frame);
  state.function = recipe_of(frame.function);
  state.continuation = frame.continuation;
  if (frame.continuation_value) state.continuation_value = recipe_of(frame.continuation_value);
  int parameters = parameter_count(frame.bytecode->code());
  for (int slot = 0; slot < static_cast<int>(frame.slots.size()); ++slot) {
    const ValuePtr& value = frame.slots[slot];
    if (may_leave_unset(frame, slot, value, innermost)) continue;
    bool deleted = value->kind == ValueKind::Null;
    // The call that creates the frame sets the parameters.
    if (deleted && (slot >= parameters || frame.bytecode->slot_kind(slot) != SlotKind::Local)) continue;
    state.slots.push_back({slot, deleted ? null_recipe() : recipe_of(value)});
  }
  for (const ValuePtr& value : stack_of(depth)) state.stack.push_back(recipe_of(value));
  return state;
}

RecipeId RegionFinisher::output_recipe(ValueRef value) {
  Recipe recipe;
  recipe.kind = RecipeKind::Output;
  recipe.index = static_cast<int32_t>(outputs_.size());
  recipe.family = &default_family();
  outputs_.push_back(value);
  snapshot_.recipes.push_back(std::move(recipe));
  return static_cast<RecipeId>(snapshot_.recipes.size() - 1);
}

// Whether Python sees no write before the exit.
bool RegionFinisher::writes_at_exit() const { return !deferred_.has_output() && !tracer_.graph().has_host_call(); }

void RegionFinisher::add_tensor_writes() {
  for (const auto& base : tracer_.builder().written_inputs()) {
    int written_before = deferred_.logged_version(base.get());
    if (base->version == written_before) continue;  // no write, or one before a graph break
    if (writes_at_exit()) written_.emplace_back(static_cast<int>(outputs_.size()), base->original.node);
    RecipeId value = output_recipe(base->current);
    Effect effect{EffectKind::WriteTensor, recipe_of(tracer_.values().find(base->source)), value};
    effect.count = base->version - written_before - base->uncounted;
    snapshot_.effects.push_back(effect);
  }
}

std::vector<InputWrite> RegionFinisher::input_writes() const {
  const std::vector<Node*>& inputs = tracer_.graph().inputs();
  std::vector<InputWrite> writes;
  for (auto [output, node] : written_) {
    auto input = std::ranges::find(inputs, node);
    if (input != inputs.end()) writes.push_back({output, static_cast<int>(input - inputs.begin())});
  }
  return writes;
}

void RegionFinisher::add_effects() {
  bool has_output = deferred_.has_output();
  if (!has_output) add_tensor_writes();
  for (const PendingEffect& pending : effects_.log()) {
    if (pending.is_undone) continue;
    Effect effect{pending.kind};
    if (pending.target) effect.target = recipe_of(pending.target);
    effect.flag = pending.flag;
    effect.count = pending.count;
    effect.family = pending.family;
    if (pending.kind == EffectKind::WriteTensor) effect.value = output_recipe(pending.tensor);
    if (pending.kind == EffectKind::SetCell) effect.value = recipe_of(pending.value);
    if (pending.value) effect.value = recipe_of(pending.value);
    if (pending.key) effect.key = recipe_of(pending.key);
    effect.location = pending.location;
    effect.start = pending.start;
    effect.stop = pending.stop;
    if (pending.kind == EffectKind::DequeAssign)
      effect.flag = as<SequenceValue>(as<ObjectValue>(pending.target)->writes->contents)->changes > 0;
    snapshot_.effects.push_back(effect);
  }
  if (has_output) add_tensor_writes();
  for (const ValuePtr& value : effects_.stored_cells()) {
    auto* cell = as<CellValue>(value);
    snapshot_.effects.push_back({EffectKind::SetCell, recipe_of(value), recipe_of(cell->contents), false});
  }
  for (const TracedModes& modes : tracer_.builder().all_modes()) {
    modes.for_each_change([&](EffectKind kind, bool flag, int count) {
      Effect& effect = snapshot_.effects.emplace_back(Effect{kind});
      effect.family = modes.family;
      effect.flag = flag;
      effect.count = count;
    });
  }
}

void RegionFinisher::end_before(int64_t step, BreakReason reason, const char* what) {
  throw RestartSignal{
      step, {exit_ == ExitKind::Return ? reason : BreakReason::call_out, what, "", {}, ""}, frames_.innermost().policy};
}

// A generator is not rebuilt: the interpreter creates it.
void RegionFinisher::end_before(const IteratorValue& generator) {
  // In that case the program's own break in the generator's body is the reason.
  if (exit_ == ExitKind::Break && restart_ != nullptr && restart_->in_generator &&
      tracer_.step_number() == restart_->step)
    throw RestartSignal{generator.creation_step, restart_->graph_break, restart_->policy, true};
  // The interpreter would meet the break again; under fullgraph it is an error before anything has run.
  if (graph_break_ != nullptr && !break_row(graph_break_->reason).is_silent() && frames_.root().policy->fullgraph)
    throw RestartSignal{generator.creation_step, *graph_break_, frames_.innermost().policy};
  end_before(generator.creation_step, BreakReason::generator_call, "a generator that goes on");
}

void RegionFinisher::check_generators() {
  // A running generator is left by the exception.
  for (const Handle<IteratorValue>& generator : pending_.generators())
    if (needs_closing(*generator) && !generator->running) end_before(*generator);
}

void RegionFinisher::add_frames(size_t depth) {
  snapshot_.frames.push_back(root_state(depth == 1));
  for (size_t i = 1; i < depth; ++i) snapshot_.frames.push_back(inner_state(i, i + 1 == depth));
}

void RegionFinisher::add_frames_at_call(const std::vector<ValuePtr>& stack, bool goes_on) {
  exit_ = ExitKind::Raise;
  check_generators();
  size_t depth = described_frames(tracer_);
  for (size_t i = 0; i < depth; ++i) {
    const SymbolicFrame& frame = frames_[i];
    stacks_.push_back(i + 1 == depth ? stack : frame.stack);
    if (goes_on) continue;
    // Stack items that the exception drops need not be rebuilt.
    auto kept = static_cast<size_t>(std::max(frame.bytecode->handler_at(frame.index).depth, 0));
    for (size_t at = kept; at < stacks_[i].size(); ++at)
      if (stacks_[i][at]->kind == ValueKind::Iterator) stacks_[i][at] = tracer_.values().none();
  }
  add_frames(depth);
  stacks_.clear();
}

Snapshot RegionFinisher::describe_failure(const std::vector<ValuePtr>& stack, std::vector<ValueRef>& outputs) {
  add_frames_at_call(stack, false);
  add_effects();
  outputs = std::move(outputs_);
  return std::move(snapshot_);
}

Snapshot RegionFinisher::describe_output(const std::vector<ValuePtr>& stack, bool goes_on,
                                         std::vector<ValueRef>& outputs) {
  add_frames_at_call(stack, goes_on);
  outputs = std::move(outputs_);
  return std::move(snapshot_);
}

std::vector<std::pair<ValuePtr, RecipeId>> RegionFinisher::made_values() const {
  std::vector<std::pair<ValuePtr, RecipeId>> made;
  for (const ValuePtr& value : keep_alive_)
    if (auto* tensor = as<TensorValue>(value); tensor != nullptr && tensor->source == nullptr)
      made.emplace_back(value, recipes_.at(value.get()));
  return made;
}

// If an object that an output may have shown was written later, the region ends before that output.
void RegionFinisher::check_outputs() {
  if (deferred_.queued().empty()) return;
  bool any_draws = std::ranges::any_of(tracer_.graph().nodes(), [](const auto& node) { return draws(*node); });
  for (const QueuedOutput& output : deferred_.queued())
    if ((any_draws && output.site.runs_python) || !std::ranges::all_of(output.shown, is_as_shown))
      throw RestartSignal{output.step, output.graph_break, output.policy};
}

void RegionFinisher::add_outputs(CapturedRegion& region) {
  for (QueuedOutput& output : tracer_.outputs().take_queued()) {
    OutputSite& site = output.site;
    auto pair_up = [&](const std::vector<std::pair<ValuePtr, RecipeId>>& made, auto& pairs) {
      for (const auto& [value, recipe] : made) {
        auto shown = std::ranges::find(output.frames, value, &ShownValue::value);
        auto found = recipes_.find(value.get());
        if (found != recipes_.end() && shown != output.frames.end() && is_as_shown(*shown))
          pairs.emplace_back(recipe, found->second);
      }
    };
    pair_up(output.made_locals, site.same_locals);
    pair_up(output.made_after, site.same_after);
    site.first_local = static_cast<int>(outputs_.size());
    outputs_.insert(outputs_.end(), output.locals.begin(), output.locals.end());
    site.first_after = static_cast<int>(outputs_.size());
    outputs_.insert(outputs_.end(), output.after.begin(), output.after.end());
    site.end = static_cast<int>(outputs_.size());
    region.outputs.push_back(std::move(site));
  }
}

namespace {

// Of the families in a graph, the one that answers for all, if its graphs have a face of their own.
const TensorFamily& answering(const std::vector<const TensorFamily*>& families) {
  auto highest = std::ranges::max_element(families, {}, &TensorFamily::rank);
  return highest == families.end() || (*highest)->face == nullptr ? default_family() : **highest;
}

bool makes_integers_of_floats(const Node& node) {
  if (!is_op(node, OpKind::Cast) && !is_op(node, OpKind::Write)) return false;
  DType dtype = node.outs[0].spec.dtype;
  return !is_inexact(dtype) && reads_floats(node);
}

// What becomes of floats that an integer does not hold is the library's, also where it does not say so.
uint32_t flags_of_region(const std::vector<const TensorFamily*>& families, const Graph& graph) {
  uint32_t flags = 0;
  bool are_watched = false;
  for (const TensorFamily* family : families) {
    are_watched = are_watched || family->watched_flags != nullptr;
    flags |= flags_watched_by(*family);
  }
  auto makes_integers = [](const auto& node) { return makes_integers_of_floats(*node); };
  if (are_watched && std::ranges::any_of(graph.nodes(), makes_integers)) flags |= kInvalidFlag;
  return flags;
}

// An exception is seen even where the result is not used.
void keep_what_is_seen(Graph& graph, const MaskedParts& parts, std::vector<ValueRef>& outputs) {
  graph.watch_float_flags();
  std::vector<bool> live = live_nodes(graph, outputs);
  for (const auto& node : graph.nodes()) {
    if (live[static_cast<size_t>(node->index)] || !may_raise_float_flags(*node)) continue;
    if (parts.computes_part(*node)) {
      parts.check_covered(*node);
    } else {
      outputs.push_back({node.get(), 0});
    }
  }
}

void note_families(CapturedRegion& region, const GraphBuilder& builder) {
  const std::vector<const TensorFamily*>& families = builder.families();
  region.family = &answering(families);
  region.has_scalars = builder.has_scalars();
  region.has_foreign_tensors =
      std::ranges::any_of(families, [](const TensorFamily* family) { return family->contained == nullptr; });
}

}  // namespace

CapturedRegion RegionFinisher::finish(RegionEnd end) {
  CapturedRegion region;
  exit_ = end.exit;
  graph_break_ = end.graph_break ? &*end.graph_break : nullptr;
  restart_ = end.restart;
  check_generators();
  check_outputs();
  region.exit = end.exit;
  region.entered = frames_.entered();
  region.depth = static_cast<int>(frames_.deepest());
  if (end.exit == ExitKind::Return) {
    snapshot_.result = recipe_of(end.result);
    snapshot_.frames.push_back(returned_state());
  } else {
    for (const auto& frame : frames_)
      if (frame->locals) end_before(frame->locals_step, BreakReason::frame_inspection, "the dict of locals()");
    add_frames(frames_.depth());
  }
  for (const auto& frame : entry_.returns())
    snapshot_.returns.push_back(
        {frame.index, frame.executed, slots_of(frame.changed.values), frame.changed.owns_moved});
  add_effects();
  for (const ValuePtr& value : shapes_.may_raise()) recipe_of(value);
  add_outputs(region);
  Graph& graph = tracer_.graph();
  if (verifies_graphs()) check_values(graph, keep_alive_, outputs_);
  note_families(region, tracer_.builder());
  region.watched_flags = flags_of_region(tracer_.builder().families(), graph);
  if (region.watched_flags != 0) keep_what_is_seen(graph, tracer_.builder().masked_parts(), outputs_);
  graph.set_outputs(outputs_);
  tracer_.builder().gradient_runs().drop_histories();
  region.met_operations = graph.op_count() > 0;
  region.answers_as_capture = tracer_.builder().answers_as_capture();
  if (region.met_operations) {
    tracer_.guards().global_state(default_family());
    for (const TensorFamily* family : tracer_.builder().families()) tracer_.guards().global_state(*family);
  }
  run_passes(graph);
  graph.set_runtime_asserts(tracer_.builder().masked_parts().check_left(graph, shapes_.runtime_asserts()));
  std::vector<std::vector<Node*>> users = graph.all_users();
  auto is_used = [&](const Node& node) {
    return node.kind != NodeKind::ScalarInput || must_run(node) || !users[static_cast<size_t>(node.index)].empty();
  };
  for (int kept : graph.retain(is_used, true)) {
    const GraphBuilder::Input& input = tracer_.builder().inputs()[static_cast<size_t>(kept)];
    region.inputs.push_back({input.source, input.source == nullptr ? recipe_of(input.computed) : kNoRecipe});
  }
  region.input_writes = input_writes();
  bind_symbols(region);
  shapes_.add_guards(tracer_.guards());
  region.violations = shapes_.violations(entry_.start().bytecode);
  if (verifies_graphs()) verify(tracer_.graph());
  region.graph = tracer_.builder().shared_graph();
  region.graph_break = std::move(end.graph_break);
  region.snapshot = std::move(snapshot_);
  region.guards = std::move(tracer_.guards());
  region.host_calls = tracer_.outputs().take_host_calls();
  region.trace = tracer_.number();
  return region;
}

}  // namespace md
