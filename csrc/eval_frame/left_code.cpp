#include "eval_frame/left_code.h"

#include <algorithm>
#include <utility>

#include "eval_frame/capture_scope.h"
#include "eval_frame/counters.h"
#include "eval_frame/region_entry.h"
#include "snapshot/serving_code.h"

namespace md {

namespace {

// Work is counted in traced instructions: this many without a plan, and the callees are known to have none. A frame
// that was asked for in vain counts as some.
constexpr int64_t kMostWasted = 40'000;
constexpr int64_t kFrameAskedFor = 40;

int listeners = 0;

}  // namespace

LeftCode::LeftCode(PyCodeObject* code, Callees callees)
    : thread_(here()), code_(Ref::share(reinterpret_cast<PyObject*>(code))), callees_(callees) {
  previous_ = std::exchange(thread_.innermost, this);
  seen_work_ = thread_.work;
  seen_wasted_ = thread_.wasted;
}

LeftCode::~LeftCode() {
  // Not the innermost if stacks are switched within the thread.
  LeftCode** place = &thread_.innermost;
  while (*place != this) place = &(*place)->previous_;
  *place = previous_;
  if (thread_.work != seen_work_ && callees_ == Callees::Learned) {
    if (facts_ == nullptr) facts_ = find_facts(reinterpret_cast<PyCodeObject*>(code_.get()));
    if (facts_ != nullptr) facts_->fruitless = 0;
  }
  if (is_listening_) set_listening(false);
}

void LeftCode::forget_all() { forget_learned(); }

bool LeftCode::is_known_fruitless() {
  if (facts_ == nullptr) facts_ = &facts_of(reinterpret_cast<PyCodeObject*>(code_.get()));
  return fruitless(*facts_) >= kMostWasted;
}

bool LeftCode::install() {
  is_uninstalled_ = is_known_fruitless();
  if (is_uninstalled_)
    set_listening(true);
  else
    installation_.emplace();
  return !is_uninstalled_;
}

void LeftCode::note_callee() {
  if (facts_ == nullptr) return;  // asks() was not needed
  int64_t before = fruitless(*facts_);
  if (thread_.work != seen_work_)
    facts_->fruitless = 0;
  else
    facts_->fruitless = std::min(kMostWasted, before + kFrameAskedFor + thread_.wasted - seen_wasted_);
  seen_work_ = thread_.work;
  seen_wasted_ = thread_.wasted;
}

void LeftCode::watch(std::shared_ptr<RegionEntry> entry) {
  watched_ = std::move(entry);
  set_listening(true);
}

void LeftCode::take_out() {
  ++counters().hook_absences;
  absence_.emplace();
  if (callees_ == Callees::Learned) set_listening(true);
}

void LeftCode::put_back() {
  absence_.reset();
  if (std::exchange(is_uninstalled_, false)) installation_.emplace();
}

void LeftCode::set_listening(bool value) {
  if (std::exchange(is_listening_, value) == value) return;
  listeners += value ? 1 : -1;
}

// Code further out that is not listening has heard the last one.
void LeftCode::note_operation() {
  if (listeners == 0 || ServingCode::in_progress()) return;
  for (LeftCode* code = here().innermost; code != nullptr; code = code->previous_) {
    if (code->callees_ == Callees::Left) return;
    if (!code->is_listening_) continue;
    code->set_listening(false);
    if (code->absence_ || code->is_uninstalled_) {
      code->is_known_fruitless();
      code->facts_->fruitless = 0;
      code->put_back();
    }
    if (code->watched_) code->watched_->note_operation();
  }
}

}  // namespace md
