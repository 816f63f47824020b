#include "eval_frame/region_exit.h"

#include <functional>
#include <vector>

#include "base/interrupts.h"
#include "cpython/gil_scope.h"
#include "cpython/stack_room.h"
#include "eval_frame/counters.h"
#include "eval_frame/gil_release.h"
#include "eval_frame/host_call_frames.h"
#include "eval_frame/library_history.h"
#include "eval_frame/signal_service.h"
#include "guards/object_memory.h"
#include "guards/tensor_family.h"
#include "symbolic/tensors/host_calls.h"
#include "symbolic/tensors/library_calls.h"
#include "tensor/kernels/random.h"
#include "tensor/memory_overlap.h"
#include "tensor/parallel/float_flags.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/tensor_modes.h"

namespace md {

namespace {

// False for an int that no op accepts; Python raises the op's error.
bool read_input(BorrowedRef object, GraphInput& input) {
  if (const TensorFamily* family = family_of(object)) {
    input.tensor = hold(*family, object);
    return input.tensor.defined();
  } else if (PyFloat_CheckExact(object.get())) {
    input.scalar = Scalar(PyFloat_AS_DOUBLE(object.get()));
  } else {
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) return false;
    input.scalar = Scalar(static_cast<int64_t>(value));
  }
  return true;
}

bool same_input(const GraphInput& a, const GraphInput& b) {
  if (a.tensor.defined() && b.tensor.defined()) return is_same(a.tensor, b.tensor) || is_same_view(a.tensor, b.tensor);
  if (a.tensor.defined() || b.tensor.defined()) return false;
  if (a.scalar.kind() != b.scalar.kind()) return false;
  return a.scalar.is_float() ? a.scalar.as_double() == b.scalar.as_double() : a.scalar.as_int() == b.scalar.as_int();
}

// Results of libraries that have memory of their own are computed there. Inputs are written only while the values that
// the run has read still hold.
class RegionHost : public RunHost {
 public:
  RegionHost(const RegionEntry& entry, const std::function<bool()>& may_commit)
      : families_(entry.families), watched_flags_(entry.region.watched_flags), may_commit_(may_commit) {
    if (watched_flags_ != 0) flags_.emplace();
  }

  bool has_committed() const { return has_committed_; }
  void commit() override {
    if (!may_commit_()) raise(ErrorKind::Runtime, "the inputs changed during the run");
    check_flags();
    has_committed_ = true;
  }
  // Python runs again, and warns or raises.
  void check_flags() {
    if (flags_ && (flags_->raised() & watched_flags_) != 0) raise(ErrorKind::Runtime, "a floating-point exception");
  }

  Tensor allocate(size_t output, const TensorSpec& spec) override {
    const TensorFamily* family = families_.empty() ? nullptr : families_[output];
    // Where the library refuses, the result is copied into an object at the exit, where it may raise.
    return family == nullptr ? Tensor() : new_result(*family, spec);
  }

 private:
  const std::vector<const TensorFamily*>& families_;
  uint32_t watched_flags_;
  const std::function<bool()>& may_commit_;
  std::optional<FloatFlags> flags_;
  bool has_committed_ = false;
};

// Of the library whose tensors the region returns; 0: our own.
int thread_limit(const std::vector<const TensorFamily*>& families) {
  for (const TensorFamily* family : families)
    if (family != nullptr && family->thread_count != nullptr) return family->thread_count();
  return 0;
}

// Python runs frames up to the recursion limit, and counts C calls as well; each frame created at the exit needs C
// stack, of which the entry has checked only enough for a few.
bool has_room_for(const CapturedRegion& region) {
  constexpr int kFewFrames = 8;
  constexpr size_t kStackOfFrame = 8 * 1024;
  if (region.depth > 1 && pv_recursion_left(PyThreadState_Get()) <= 2 * region.depth) return false;
  return region.depth <= kFewFrames || pv_stack_left() / kStackOfFrame > region.snapshot.frames.size();
}

// The program's writes into results lie before what a backward keeps of them.
void count_recorded_writes(const std::vector<int>& writes, std::span<const Tensor> outputs) {
  for (size_t i = 0; i < writes.size(); ++i) {
    if (writes[i] == 0 || !outputs[i].defined() || is_in_object(outputs[i])) continue;
    const auto& storage = outputs[i]->storage();
    while (storage->version() < static_cast<uint64_t>(writes[i])) storage->bump_version();
  }
}

// Those into inputs too: the effects at the exit count none of them again.
void count_input_writes(const std::vector<std::pair<int, int>>& counts, std::span<const GraphInput> inputs) {
  for (const auto& [input, count] : counts) {
    const Tensor& tensor = inputs[static_cast<size_t>(input)].tensor;
    if (is_in_object(tensor)) {
      BorrowedRef object = object_around(tensor);
      if (auto* note = family_of(object)->written; note != nullptr && count > 0) note(object, count);
    } else {
      for (int i = 0; i < count; ++i) tensor->storage()->bump_version();
    }
  }
}

}  // namespace

RegionRun::RegionRun(RegionEntryPtr entry, const LocalsView& view, const FetchedObjects* fetched)
    : entry_(std::move(entry)),
      view_(view),
      exit_(entry_->region.snapshot, view, fetched),
      inputs_(entry_->plan != nullptr ? region().inputs.size() : 0),
      outputs_(entry_->plan != nullptr ? entry_->run_graph().outputs().size() : 0) {
  ++counters().regions_run;
  auto find = [&](const RegionInput& place) { return fetch_once(place.source, view, fetched); };
  if (entry_->reused.empty()) [[likely]]
    read_inputs<false>(find, true);
  else
    read_inputs<true>(find, true);
  if (!region().outputs.empty()) replay_.emplace(*entry_, view);
  if (!unfit_ && compute_numbers() && entry_->computes_inputs)
    read_inputs<false>([&](const RegionInput& place) { return exit_.builder().build(place.computed); }, false);
}

// Where the graph is another library's: a parameter that stays as it is, or the tensor of the last run over the
// object's memory.
bool RegionRun::take_foreign(size_t i, const Ref& object) {
  const TensorFamily* family = family_of(object);
  if (family == nullptr) return false;
  Tensor& tensor = inputs_[i].tensor;
  if (!entry_->frozen.empty()) {
    tensor = entry_->frozen[i].of(*family, object);
    if (tensor.defined()) frozen_.push_back(object);
  }
  if (!tensor.defined()) tensor = entry_->reused[i].take(*family, object);
  return tensor.defined();
}

void RegionRun::drop_inputs() {
  for (size_t i = 0; i < entry_->reused.size(); ++i) entry_->reused[i].give_back(std::move(inputs_[i].tensor));
  for (GraphInput& input : inputs_) input.tensor = Tensor();
}

// Reads the inputs from sources, or the computed ones.
template <bool is_foreign, typename Find>
void RegionRun::read_inputs(Find find, bool from_sources) {
  for (size_t i = 0; i < inputs_.size() && !unfit_; ++i) {
    const RegionInput& place = region().inputs[i];
    if ((place.source != nullptr) != from_sources) continue;
    Ref object = find(place);
    MD_ASSERT(object, "an input of a graph is gone");
    unfit_ = (!is_foreign || !take_foreign(i, object)) && !read_input(object.get(), inputs_[i]);
  }
}

// If a deferred scalar op raises, Python raises the error at its own place.
bool RegionRun::compute_numbers() {
  try {
    for (RecipeId id : region().snapshot.computed) exit_.builder().build(id);
    if (replay_) replay_->compute_numbers();
  } catch (const PythonError&) {
    PyErr_Clear();
    unfit_ = true;
  }
  return !unfit_;
}

bool RegionRun::run_with_host_calls(LiveFrame& frame) {
  take_failed_host_call();  // left over from a run whose exception was caught
  LinkedFrames frames(frame, region(), view_);
  HostCallFramesScope scope(&frames);
  UncommittedWrites writes;
  bool done = run_steps();
  if (done) writes.commit_at_exit();
  return done;
}

bool RegionRun::run_plan(LiveFrame* frame) {
  if (unfit_ || !entry_->failed_runs.may_run()) return false;
  if (!has_room_for(region())) {
    failure_ = Bailout::no_room;
    return false;
  }
  if (entry_->plan == nullptr) return true;
  ++counters().plans_run;
  if (region().host_calls.empty()) return run_steps();
  MD_ASSERT(frame != nullptr, "a region with host calls runs in its frame");
  return run_with_host_calls(*frame);
}

// Whether a run started now would read the same inputs.
bool RegionRun::still_holds() {
  if (!entry_->guards.check(view_) || !exit_.builder().is_current()) return false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Source* source = region().inputs[i].source;
    if (source == nullptr) continue;
    GraphInput now;
    if (!read_input(fetch(source, view_).get(), now) || !same_input(now, inputs_[i])) return false;
  }
  return true;
}

// Asked without the GIL, if a long plan has released it.
bool RegionRun::holds_after_signals(int64_t served) {
  if (served == signals_served()) return true;
  GilScope gil;
  return still_holds();
}

// Returns whether the plan has written inputs: then no interrupt is served, and nothing is checked any more.
bool RegionRun::run_committing(const Plan& plan, int64_t served) {
  const std::function<bool()> may_commit = [&] { return holds_after_signals(served); };
  RegionHost host(*entry_, may_commit);
  ThreadLimitScope threads(thread_limit(entry_->families));
  GilRelease release(is_long(plan));
  const std::function<void()> check_before_calls = [&] { host.check_flags(); };
  std::optional<BeforeHostCalls> before;
  if (entry_->calls_functions) before.emplace(&check_before_calls);
  plan.run_into(inputs_.span(), outputs_.span(), host);
  // What has been written cannot be undone: CommitPoint lets nothing that may be flagged run after it.
  if (!host.has_committed()) host.check_flags();
  return host.has_committed();
}

namespace {

// Functions of other libraries are called in regions of their tensors only.
bool calls_library(const RegionEntry& entry) { return entry.calls_functions && !entry.families.empty(); }

// Random numbers that a run draws: ours, and those of other libraries.
class DrawsOfRun {
 public:
  explicit DrawsOfRun(const RegionEntry& entry) {
    if (entry.draws) ours_.emplace();
    if (calls_library(entry)) others_.emplace();
  }
  void roll_back() {
    if (ours_) ours_->roll_back();
    if (others_) others_->roll_back();
  }

 private:
  std::optional<RandomTransaction> ours_;
  std::optional<LibraryDraws> others_;
};

}  // namespace

std::shared_ptr<const Plan> RegionRun::sized_plan() {
  return entry_->is_sized ? entry_->plan->for_inputs(inputs_.span()) : nullptr;
}

bool RegionRun::note_failure() {
  entry_->failed_runs.note(true);
  ++counters().plan_failures;
  return false;
}

// Most regions of our own tensors.
bool RegionRun::run_plan_alone() {
  int64_t served = signals_served();
  try {
    std::shared_ptr<const Plan> sized = sized_plan();
    const Plan& plan = sized != nullptr ? *sized : *entry_->plan;
    GilRelease release(is_long(plan));
    plan.run(inputs_.span(), outputs_.span());
    // Signals that arrived during the last step, or while other threads had the GIL.
    serve_interrupts();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Internal) throw;
    return note_failure();
  }
  entry_->failed_runs.note(false);
  if (!holds_after_signals(served)) return false;
  take_outputs();
  return true;
}

void RegionRun::take_outputs() {
  drop_inputs();
  exit_.builder().set_outputs(outputs_.span());
  if (replay_) replay_->set_outputs(outputs_.span());
}

bool RegionRun::run_steps() {
  if (entry_->runs_plan_alone) return run_plan_alone();
  auto host_calls_here = [this] { return region().host_calls.empty() ? 0 : host_calls_begun(); };
  int64_t host_calls = host_calls_here();
  int64_t served = signals_served();
  DrawsOfRun drawn(*entry_);
  std::optional<RepeatableRun> repeatable;
  if (calls_library(*entry_)) repeatable.emplace(true);
  bool has_committed = false;
  std::optional<RunHistory> history;
  InputsBefore before;
  if (entry_->recorder != nullptr) {
    before = inputs_before(*entry_->recorder, *entry_->gradients, inputs_.span(), region().input_writes);
  } else if (entry_->gradients != nullptr) {
    history.emplace(entry_->gradients, inputs_.span(), region().input_writes);
  }
  try {
    std::shared_ptr<const Plan> sized = sized_plan();
    const Plan& plan = sized != nullptr ? *sized : *entry_->plan;
    if (entry_->families.empty() && region().input_writes.empty() && region().watched_flags == 0) {
      GilRelease release(is_long(plan));
      plan.run(inputs_.span(), outputs_.span());
    } else {
      has_committed = run_committing(plan, served);
    }
    // Signals that arrived during the last step, or while other threads had the GIL.
    if (!has_committed) serve_interrupts();
  } catch (const SignalRaised&) {
    drawn.roll_back();
    throw;
  } catch (const Error& error) {
    // Host calls must not be repeated.
    if (error.kind() == ErrorKind::Internal || host_calls_here() != host_calls) throw;
    drawn.roll_back();
    return note_failure();
  }
  entry_->failed_runs.note(false);
  bool is_current = has_committed || host_calls != host_calls_here() || holds_after_signals(served);
  if (!is_current) {
    drawn.roll_back();
    return false;
  }
  count_input_writes(entry_->counted_inputs, inputs_.span());
  if (history) {
    count_recorded_writes(entry_->recorded_writes, outputs_.span());
    history->finish(outputs_.span());
  }
  if (!entry_->output_views.empty()) note_output_views(entry_->output_views, inputs_.span(), outputs_.span());
  if (!entry_->families.empty()) move_shared_outputs(entry_->families, outputs_.span());
  if (entry_->recorder != nullptr)
    record_run(*entry_->recorder, entry_->gradients, inputs_.span(), outputs_.span(), before, entry_->recorded_writes);
  take_outputs();
  return true;
}

// Everything that an effect needs is built before the first one is applied.
void ExitValues::build_effects() {
  for (const Effect& effect : snapshot_.effects)
    for (RecipeId id : {effect.target, effect.value, effect.key})
      if (id != kNoRecipe) builder_.build(id);
  builder_.finish();
}

HeldEffect ExitValues::hold(const Effect& effect) {
  auto value_of = [&](RecipeId id) { return id != kNoRecipe ? builder_.build(id) : Ref(); };
  return {&effect, value_of(effect.target), value_of(effect.value), value_of(effect.key)};
}

bool ExitValues::apply_effects(OutputReplay* outputs, LiveFrame* frame) {
  EffectSite site{builder_, outputs, frame};
  for (const Effect& effect : snapshot_.effects) {
    apply(hold(effect), &site);
    if (site.stopped) return false;
  }
  return true;
}

Ref ExitValues::take_result(OutputReplay* outputs, LiveFrame* frame) {
  Ref result = builder_.build(snapshot_.result);
  if (snapshot_.effects.empty()) {
    builder_.finish();
    return result;
  }
  build_effects();
  return apply_effects(outputs, frame) ? std::move(result) : Ref();
}

SlotObjects build_slots(const std::vector<SlotValue>& slots, ValueBuilder& builder) {
  SlotObjects objects;
  objects.reserve(slots.size());
  for (const SlotValue& slot : slots) objects.emplace_back(slot.slot, builder.build(slot.value));
  return objects;
}

FrameImages build_images(const Snapshot& snapshot, ValueBuilder& builder) {
  FrameImages images;
  images.reserve(snapshot.frames.size());
  for (const FrameState& state : snapshot.frames) {
    FrameImage& image = images.emplace_back();
    image.state = &state;
    if (state.function != kNoRecipe) image.function = builder.build(state.function);
    image.slots = build_slots(state.slots, builder);
    image.stack.reserve(state.stack.size());
    for (RecipeId value : state.stack) image.stack.push_back(builder.build(value));
    if (state.continuation_value != kNoRecipe) image.continuation_value = builder.build(state.continuation_value);
  }
  return images;
}

FrameImages ExitValues::take_images(OutputReplay* outputs, LiveFrame* frame) {
  FrameImages images = build_images(snapshot_, builder_);
  build_effects();
  if (!apply_effects(outputs, frame)) {
    images.clear();
    return images;
  }
  // From then on only the images own the values.
  builder_.release();
  if (outputs != nullptr) outputs->release();
  return images;
}

SlotObjects ExitValues::take_slots(const std::vector<SlotValue>& slots, LiveFrame* frame) {
  SlotObjects objects = md::build_slots(slots, builder_);
  build_effects();
  apply_effects(nullptr, frame);
  builder_.release();
  return objects;
}

HeldExit ExitValues::hold_back() {
  HeldExit held;
  if (snapshot_.result != kNoRecipe) {
    held.result = builder_.build(snapshot_.result);
  } else {
    held.images = build_images(snapshot_, builder_);
  }
  build_effects();
  for (const Effect& effect : snapshot_.effects) held.effects.push_back(hold(effect));
  for (size_t id = 0; id < snapshot_.recipes.size(); ++id)
    if (const Recipe& recipe = snapshot_.recipes[id]; recipe.kind == RecipeKind::Output)
      held.outputs.emplace_back(recipe.index, builder_.build(static_cast<RecipeId>(id)));
  return held;
}

HeldExit RegionRun::hold_back() {
  HeldExit held = exit_.hold_back();
  release();
  return held;
}

void RegionRun::release() {
  exit_.builder().release();
  if (replay_) replay_->release();
}

bool RegionRun::has_images_for(const FailedHostCall& failed) const {
  return region().host_calls[static_cast<size_t>(failed.site)].failure.has_value();
}

FrameImages RegionRun::take_failure_images(FailedHostCall& failed) {
  const Snapshot& snapshot = *region().host_calls[static_cast<size_t>(failed.site)].failure;
  ExitValues values(snapshot, view_);
  for (RecipeId id : snapshot.computed) values.builder().build(id);
  values.builder().set_outputs(failed.outputs);
  FrameImages images = values.take_images();
  for (const auto& [target, value] : failed.written) {
    copy_elements(value, target);
    target->storage()->bump_version();
  }
  return images;
}

void put(LiveFrame& frame, SlotObjects objects) {
  for (auto& [slot, value] : objects) frame.put(slot, std::move(value));
}

void restore(LiveFrame& frame, FrameImage& image) {
  ++counters().snapshots_restored;
  // Values that are overwritten may die here and run Python: the frame is consistent after each put().
  if (!image.state->keep_stack) {
    std::vector<Ref> old;
    while (frame.depth() > 0) old.push_back(frame.pop());
    for (Ref& value : image.stack) frame.push(std::move(value));
  }
  put(frame, std::move(image.slots));
  frame.set_index(image.state->index);
}

}  // namespace md
