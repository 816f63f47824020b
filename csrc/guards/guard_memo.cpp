#include "guards/guard_memo.h"

#include <alloca.h>

#include <algorithm>

#include "guards/fetch_step.h"
#include "guards/fetched_objects.h"
#include "guards/memo_recorder.h"

namespace md {

bool GuardMemo::has_roots_of(const LocalsView& view) const {
  if (is_stale_) return false;
  for (const Root& root : roots_)
    if (root.slot >= view.slot_count || view.slots[root.slot] != root.object) return false;
  auto* function = reinterpret_cast<PyFunctionObject*>(view.function);
  return (function_ == nullptr || function_ == view.function) &&
         (globals_ == nullptr || globals_ == function->func_globals) &&
         (builtins_ == nullptr || builtins_ == function->func_builtins);
}

// A dict has changed: repeats the lookups that went through it and the checks of what they found.
bool GuardMemo::check_again(Witness& witness, const LocalsView& view) {
  if (witness.recheck < 0) return false;
  uint64_t now = *witness.place;
  for (const auto& [in, type] : rechecks_[static_cast<size_t>(witness.recheck)]) {
    PyObject* before = in.op == GuardOp::Fetch ? objects_[in.target] : nullptr;
    if (!GuardProgram::check({&in, 1}, view, objects_.data())) return false;
    if (type == nullptr) continue;
    if (objects_[in.target] != before || Py_TYPE(before) != type) return false;
  }
  if (witness.place != &kNever) witness.expected = now;
  return true;
}

bool GuardMemo::words_hold(const LocalsView& view) {
  for (Witness& witness : witnesses_)
    if (*witness.place != witness.expected && !check_again(witness, view)) return false;
  return true;
}

bool GuardMemo::tensors_hold(const LocalsView& view) {
  uint64_t now = tensor_changes();
  if (now == tensor_changes_ && !tensors_may_change_unseen_) return true;
  if (!GuardProgram::check(tensors_, view, objects_.data())) return false;
  tensor_changes_ = now;
  return true;
}

GuardMemo::Answer GuardMemo::check(const LocalsView& view, PyObject** registers) {
  if (!words_hold(view) || !tensors_hold(view)) return Answer::Unknown;
  for (uint32_t which : presets_) registers[which] = objects_[which];
  return GuardProgram::check(steps_, view, registers) ? Answer::Holds : Answer::Fails;
}

bool GuardMemos::check(const GuardProgram& program, const LocalsView& view, FetchedObjects* fetched) {
  PyObject** registers = fetched != nullptr
                             ? fetched->start(program)
                             : static_cast<PyObject**>(alloca(program.register_count() * sizeof(PyObject*)));
  auto found = std::ranges::find_if(memories_, [&](const auto& memory) { return memory->has_roots_of(view); });
  GuardMemo::Answer answer = GuardMemo::Answer::Unknown;
  const GuardMemo* memo = nullptr;
  if (found != memories_.end()) {
    std::rotate(memories_.begin(), found, found + 1);
    GuardMemo& memory = *memories_.front();
    // What the memo knows is not loaded.
    std::fill_n(registers, program.register_count(), nullptr);
    ++running_;
    answer = memory.check(view, registers);
    --running_;
    if (answer == GuardMemo::Answer::Unknown || memory.is_stale()) {
      answer = GuardMemo::Answer::Unknown;
      drop(memory);
    } else if (answer == GuardMemo::Answer::Holds) {
      memo = &memory;
      ++memory.hits;
    }
  }
  bool holds =
      answer == GuardMemo::Answer::Unknown ? check_whole(program, view, registers) : answer == GuardMemo::Answer::Holds;
  last_ = memo;
  if (holds && fetched != nullptr) fetched->finish(program, memo);
  return holds;
}

bool GuardMemos::check_whole(const GuardProgram& program, const LocalsView& view, PyObject** registers) {
  ++running_;
  bool holds = program.check(view, registers);
  --running_;
  if (!holds || !wants_memory(program)) return holds;
  std::unique_ptr<GuardMemo> memory = MemoRecorder(program, view, registers).record();
  if (pays(program, *memory)) {
    keep(std::move(memory));
  } else {
    backoff_ = kMostPatience;
  }
  return true;
}

bool GuardMemos::wants_memory(const GuardProgram& program) {
  if (!program.has_fetches() || running_ > 0 || ++waited_ <= backoff_) return false;
  waited_ = 0;
  return true;
}

// Whether the memo saves enough: one that leaves most of the work to its steps only adds cost.
bool GuardMemos::pays(const GuardProgram& program, const GuardMemo& memory) {
  return memory.words() / 2 + memory.steps() < program.instructions().size();
}

void GuardMemos::keep(std::unique_ptr<GuardMemo> memory) {
  constexpr size_t kMost = 8;
  std::erase_if(memories_, [](const auto& each) { return each->is_stale(); });
  if (memories_.size() == kMost) drop(*memories_.back());
  memories_.insert(memories_.begin(), std::move(memory));
}

// A running check further up the stack may be using this memo, so it is freed later.
void GuardMemos::drop(GuardMemo& memory) {
  constexpr int kWorthIt = 8;
  if (!memory.is_stale())
    backoff_ = memory.hits >= kWorthIt ? std::max(1, backoff_ / 2) : std::min(kMostPatience, backoff_ * 2);
  memory.forget();
  if (running_ == 0) std::erase_if(memories_, [](const auto& each) { return each->is_stale(); });
}

}  // namespace md
