// Loops whose body is one region: it runs again without the look-up, and what it leaves is moved into the frame.
#include "eval_frame/linked_loop.h"

#include "base/interrupts.h"
#include "eval_frame/counters.h"
#include "eval_frame/driver.h"
#include "eval_frame/hook.h"
#include "eval_frame/quick_steps.h"
#include "eval_frame/region_lookup.h"
#include "guards/source.h"
#include "symbolic/trace/loops.h"

namespace md {

namespace {

bool goes_on_plainly(const CapturedRegion& region) { return region.leaves_plainly() && !region.rest_uncaptured; }

bool is_slot(const Recipe& recipe, int slot) {
  return recipe.kind == RecipeKind::Source && recipe.source->kind() == SourceKind::Local &&
         recipe.source->index() == slot;
}

// Whether the first `depth` values of the stack are those of the region's start.
bool keeps_stack(const Snapshot& snapshot, int depth) {
  const FrameState& state = snapshot.frames.front();
  if (state.keep_stack) return true;
  if (state.stack.size() != static_cast<size_t>(depth)) return false;
  for (int at = 0; at < depth; ++at) {
    const Recipe& recipe = snapshot.recipes[static_cast<size_t>(state.stack[static_cast<size_t>(at)])];
    if (!is_slot(recipe, state.bytecode->slot_count() + at)) return false;
  }
  return true;
}

}  // namespace

bool links_to_itself(const RegionEntry& entry) {
  const CapturedRegion& region = entry.region;
  if (region.exit != ExitKind::Loop || entry.plan == nullptr || !goes_on_plainly(region)) return false;
  const FrameState& state = region.snapshot.frames.front();
  const Bytecode& code = *state.bytecode;
  if (header_of_body(code, entry.instruction, state.index) != state.index) return false;
  bool is_for = code[state.index].op == Opcode::FOR_ITER;
  return is_for == (entry.instruction == state.index + 1) && keeps_stack(region.snapshot, code.depth_at(state.index));
}

std::optional<Stretch> stretch_of_numbers(const RegionEntry& entry) {
  constexpr int kMost = 32;
  const CapturedRegion& region = entry.region;
  bool ends_inside = region.exit == ExitKind::Break || region.exit == ExitKind::Loop;
  bool is_alone = goes_on_plainly(region) && region.entered.empty() && region.snapshot.effects.empty();
  if (entry.plan != nullptr || !ends_inside || !is_alone) return {};
  const FrameState& state = region.snapshot.frames.front();
  Stretch found{entry.instruction, state.index};
  if (found.last <= found.first || found.last - found.first >= kMost) return {};
  for (int at = found.first; at <= found.last; ++at)
    if (!may_step_quickly((*state.bytecode)[at].op)) return {};
  return found;
}

bool FrameDriver::may_link(const RegionEntry& entry) const {
  const FrameState& state = entry.region.snapshot.frames.front();
  return entry.links && entry.checks_left == 0 && callers_ == nullptr && state.policy == policy_;
}

void FrameDriver::leave_to_header(RegionRun& run) {
  ++counters().snapshots_restored;
  const FrameState& state = run.region().snapshot.frames.front();
  SlotObjects slots = run.take_slots(state.slots, &frame_);
  frame_.drop_to(frame_.bytecode().depth_at(state.index));
  put(frame_, std::move(slots));
  frame_.set_index(state.index);
}

// The end of an iteration, and the beginning of the next: as leave_region() and advance() do it.
std::optional<FrameDriver::Advance> FrameDriver::go_round(const RegionEntryPtr& entry) {
  pending_checks_due_ = true;
  if (interrupt_waits())
    if (std::optional<Advance> served = handle_pending()) return served;
  if (frame_.index() != entry->instruction && execute_here(entry.get()) == Advance::Left) return Advance::Left;
  bool goes_on =
      frame_.index() == entry->instruction && frame_.depth() == frame_.bytecode().depth_at(entry->instruction);
  if (!goes_on || !may_link(*entry) || enters_monitored(entry->region)) return Advance::Continue;
  if (pv_traced(frame_.thread(), frame_.raw()) != 0 || is_below_another_hook()) return Advance::Continue;
  pending_checks_due_ = false;
  return handle_pending();
}

FrameDriver::Advance FrameDriver::run_linked(RegionRun& first) {
  const RegionEntryPtr entry = first.entry();
  leave_to_header(first);
  for (;;) {
    if (std::optional<Advance> advance = go_round(entry)) return *advance;
    std::optional<RegionRun> run;
    try {
      LocalsView now = view();
      FetchedObjects fetched;
      if (!entry->guards.check(now, &fetched)) return Advance::Continue;
      ++counters().linked_runs;
      run.emplace(entry, now, &fetched);
      note_region(entry);
      if (!run->run_plan(&frame_)) return bail_out_here(run->failure());
      counters().translated_instructions += entry->region.instructions;
      leave_to_header(*run);
    } catch (...) {
      return raise_from_region(run ? &*run : nullptr);
    }
  }
}

// A number that turns out to be something else ends this way of execution for the frame.
FrameDriver::Advance FrameDriver::run_numbers() {
  StepResult done{Outcome::Next, frame_.index()};
  {
    AmbientPolicy ambient(policy_);
    int from;
    do {
      from = frame_.index();
      if (step_quickly(frame_)) {
        note_instructions(1);
        done = {Outcome::Next, frame_.index()};
        continue;
      }
      if (!only_moves(frame_)) {
        numbers_.reset();
        takes_numbers_ = false;
        return Advance::Continue;
      }
      done = step_under(ambient);
      if (done.outcome != Outcome::Next) break;
      note_instructions(1);
      frame_.set_index(done.index);
    } while (numbers_->contains(done.index) && done.index > from);
  }
  return done.outcome == Outcome::Next ? Advance::Continue : finish_step(done, nullptr);
}

// After a few runs: most regions without a plan are seen once or twice.
bool FrameDriver::take_numbers(const RegionEntryPtr& entry) {
  constexpr int kFewRuns = 8;
  if (!entry->numbers || !takes_numbers_ || entry->checks_left > 0 || ++entry->runs_of_numbers <= kFewRuns)
    return false;
  note_region(entry);
  numbers_ = entry->numbers;
  return true;
}

}  // namespace md
