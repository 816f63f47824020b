#include "eval_frame/frame_entry.h"

#include "base/config.h"
#include "cpython/errors.h"
#include "eval_frame/capture_scope.h"
#include "eval_frame/counters.h"
#include "eval_frame/driver.h"
#include "eval_frame/left_code.h"
#include "eval_frame/region_lookup.h"
#include "snapshot/serving_code.h"

#include <memory>
#include <optional>

namespace md {

namespace {

// `entry` is the region under `policy` that has nothing to capture, if there is one.
PyObject* leave_to_interpreter(PyThreadState* ts, PvFrame* raw, Bailout reason, RegionEntryPtr entry = nullptr,
                               const Policy* policy = nullptr) {
  note_bailout(reason, pv_code(raw));
  LeftCode left(pv_code(raw));
  if (entry != nullptr && entry->was_learned())
    left.watch(std::move(entry));
  else if (entry != nullptr && entry->is_left_by_types)
    note_left(facts_of(pv_code(raw)), raw, policy);
  std::optional<HookPause> pause;
  if (reason == Bailout::no_room) pause.emplace();
  return run_default(ts, raw);
}

// The error is raised in the frame, at its first line.
PyObject* throw_at_start(PyThreadState* ts, PvFrame* raw) {
  Ref error = take_raised();
  std::optional<LiveFrame> frame;
  try {
    frame.emplace(ts, raw);
  } catch (...) {  // out of memory
    set_error_from_current_exception();
    PyErr_Clear();
  }
  bool entered = frame && frame->enter();
  set_raised(std::move(error));
  return entered ? leave_by_throw(*frame) : run_default(ts, raw, 1);
}

// Enters the frame and runs a driver. A C++ exception leaves the frame as its Python exception.
template <typename Run>
PyObject* drive(PyThreadState* ts, PvFrame* raw, const Policy* policy, Run run) {
  LiveFrame frame(ts, raw);
  if (!frame.enter()) return leave_to_interpreter(ts, raw, Bailout::no_room);
  try {
    if (PyErr_Occurred() != nullptr) throw PythonError();
    FrameDriver driver(frame, policy);
    return run(driver);
  } catch (...) {
    set_error_from_current_exception();
    return frame.entered() ? leave_by_throw(frame) : nullptr;
  }
}

// Whether this frame of the function was requested, once, to run uncaptured.
bool is_skipped(PvFrame* raw) {
  PyObject* function = pv_func(raw);
  if (function == nullptr || skipped_function().get() != function) return false;
  exchange_skipped_function(nullptr);
  return true;
}

// Borrowed; null if there is none. The closure keeps it.
BorrowedRef function_in_closure(BorrowedRef wrapper) {
  PyObject* closure = wrapper ? PyFunction_GET_CLOSURE(wrapper.get()) : nullptr;
  for (Py_ssize_t i = 0; closure != nullptr && i < PyTuple_GET_SIZE(closure); ++i) {
    PyObject* held = PyCell_GET(PyTuple_GET_ITEM(closure, i));
    if (held != nullptr && PyFunction_Check(held)) return held;
  }
  return nullptr;
}

// Returns null when out of memory.
const Bytecode* decoded(PvFrame* raw) {
  try {
    return Bytecode::of(pv_code(raw));
  } catch (...) {
    if (!was_want_of_memory()) throw;
    return nullptr;
  }
}

// Whether the frame is captured whole, without anything for a plan.
bool computes_nothing(const RegionEntry& entry, const Policy* policy) {
  bool is_empty = entry.plan == nullptr && entry.region.exit == ExitKind::Return && entry.checks_left == 0;
  return is_empty && !policy->keeps_empty_regions && config().snapshot_stress == 0;
}

// The region at the start of a frame, and what follows it.
PyObject* run_captured(PyThreadState* ts, PvFrame* raw, const Policy* policy) {
  const Bytecode* bytecode = decoded(raw);
  if (bytecode == nullptr) return leave_to_interpreter(ts, raw, Bailout::no_memory);
  FrameSlots slots;
  add_slots(raw, bytecode->slot_count(), slots);
  RegionPlace place{*bytecode, 0, 0, view_of(raw, slots), policy, nullptr};
  Bailout why;
  FetchedObjects fetched;
  RegionEntryPtr entry = find_or_capture(place, why, fetched);
  if (entry != nullptr && entry->is_driven())
    return drive(ts, raw, policy, [&](FrameDriver& driver) { return driver.run_workless(entry); });
  if (entry != nullptr && entry->is_left()) {
    why = bailout_of(*entry);
    return leave_to_interpreter(ts, raw, why, std::move(entry), policy);
  }
  if (entry == nullptr && policy->keeps_empty_regions && !is_interpreters(why)) {
    return drive(ts, raw, policy, [](FrameDriver& driver) { return driver.run_concretely(); });
  }
  if (entry == nullptr) return leave_to_interpreter(ts, raw, why);
  if (entry->plan == nullptr && !policy->keeps_empty_regions && another_hook_is_there())
    return leave_to_interpreter(ts, raw, Bailout::another_hook);
  if (computes_nothing(*entry, policy)) return leave_to_interpreter(ts, raw, Bailout::worthless);
  RegionRun run(std::move(entry), place.view, &fetched);
  bool inside = run.entry()->needs_frame();
  if (!inside && !run.run_plan()) return leave_to_interpreter(ts, raw, run.failure());
  return drive(ts, raw, policy,
               [&](FrameDriver& driver) { return inside ? driver.run_inside(run) : driver.run_from(run); });
}

class AmbientFrames : public FrameHandler {
 public:
  PyObject* run(PyThreadState* ts, PvFrame* raw) override {
    const Policy* policy = ambient_policy();
    // The caller of a function whose frame is skipped has made a LeftCode for it.
    if (policy == nullptr || is_skipped(raw)) return run_default(ts, raw);
    try {
      // What is never captured and makes no calls is no business of any LeftCode.
      const CodeFacts& facts = facts_of(pv_code(raw));
      if (!facts.may_be_root && !facts.calls) return run_default(ts, raw);
      LeftCode* caller = LeftCode::innermost();
      bool leaves_all = caller != nullptr && caller->leaves_callees();
      if (policy->disable && !leaves_all) return run_left(ts, raw, LeftCode::Callees::Left);
      bool may_leave = caller != nullptr && (leaves_all || !policy->keeps_empty_regions);
      if (may_leave && !caller->asks()) return run_default(ts, raw);
      PyObject* result = run_asked(ts, raw, policy);
      if (caller != nullptr) caller->note_callee();
      return result;
    } catch (...) {
      set_error_from_current_exception();
      return throw_at_start(ts, raw);
    }
  }

 private:
  static PyObject* run_left(PyThreadState* ts, PvFrame* raw, LeftCode::Callees callees) {
    LeftCode left(pv_code(raw), callees);
    return run_default(ts, raw);
  }

  // The frame of a wrapper whose function runs uncaptured.
  static PyObject* run_wrapper(PyThreadState* ts, PvFrame* raw) {
    BorrowedRef outer = exchange_skipped_function(function_in_closure(pv_func(raw)));
    PyObject* result = run_left(ts, raw, LeftCode::Callees::Learned);
    exchange_skipped_function(outer);
    return result;
  }

  // Without calls of its own the frame needs no LeftCode.
  static PyObject* run_left_again(PyThreadState* ts, PvFrame* raw, const CodeFacts& facts) {
    note_bailout(Bailout::worthless, pv_code(raw));
    return facts.calls ? run_left(ts, raw, LeftCode::Callees::Learned) : run_default(ts, raw);
  }

  static PyObject* run_asked(PyThreadState* ts, PvFrame* raw, const Policy* policy) {
    if (pv_traced(ts, raw) != 0) return leave_to_interpreter(ts, raw, Bailout::traced);
    const CodeFacts& facts = facts_of(pv_code(raw));
    if (is_left_again(facts, raw, policy)) return run_left_again(ts, raw, facts);
    if (facts.skips_inner) return run_wrapper(ts, raw);
    if (facts.may_be_root) return run_captured(ts, raw, policy);
    return run_left(ts, raw, facts.leaves_callees ? LeftCode::Callees::Left : LeftCode::Callees::Learned);
  }
};

class EverywhereFrames : public FrameHandler {
 public:
  void use(const CompileOptions& options) {
    options_ = options;
    policy_ = nullptr;
  }
  void install() {
    installation_ = std::make_unique<HookInstallation>(HookInstallation::Of::Process);
    exchange_process_handler(this);
  }
  void uninstall() {
    exchange_process_handler(nullptr);
    installation_.reset();
  }

  PyObject* run(PyThreadState* ts, PvFrame* raw) override {
    if (makes_generator(raw)) {
      ++counters().final_instructions;
      return run_default(ts, raw);
    }
    const Policy* policy = policy_here();
    if (std::optional<Bailout> reason = refusal(ts, raw, policy)) return leave_to_interpreter(ts, raw, *reason);
    try {
      return starts_function(raw) ? run_captured(ts, raw, policy) : run_from_position(ts, raw, policy);
    } catch (...) {
      set_error_from_current_exception();
      return throw_at_start(ts, raw);
    }
  }

  PyObject* run_thrown(PyThreadState* ts, PvFrame* raw) override {
    note_bailout(Bailout::thrown_into, pv_code(raw));
    return run_default(ts, raw, 1);
  }

 private:
  // The first call ends after an instruction or two; the generator's own frame comes later.
  static bool makes_generator(PvFrame* raw) { return pv_makes_generator(pv_code(raw)) && pv_is_generator(raw) == 0; }

  static bool starts_function(PvFrame* raw) {
    constexpr int kFunction = CO_OPTIMIZED | CO_NEWLOCALS;
    return pv_is_generator(raw) == 0 && (pv_code(raw)->co_flags & kFunction) == kFunction;
  }

  const Policy* policy_here() {
    if (const Policy* caller = ambient_policy(); caller != nullptr && (caller->keeps_empty_regions || caller->disable))
      return caller;
    if (policy_ == nullptr || policy_->config_fingerprint != config_fingerprint()) {
      AmbientPolicy none(nullptr);
      Policy policy = *policy_for_call(options_, inherited_policy());
      policy.keeps_empty_regions = true;
      policy_ = intern(policy);
    }
    return policy_;
  }

  static std::optional<Bailout> refusal(PyThreadState* ts, PvFrame* raw, const Policy* policy) {
    if (ServingCode::in_progress()) return Bailout::while_capturing;
    if (policy->disable || config().disable || is_skipped(raw)) return Bailout::disabled;
    if (pv_traced(ts, raw) != 0) return Bailout::traced;
    if (pv_func(raw) == nullptr) return Bailout::worthless;
    return std::nullopt;
  }

  // The body of a class or module, or a resumed generator.
  static PyObject* run_from_position(PyThreadState* ts, PvFrame* raw, const Policy* policy) {
    if (decoded(raw) == nullptr) return leave_to_interpreter(ts, raw, Bailout::no_memory);
    return drive(ts, raw, policy, [](FrameDriver& driver) { return driver.run_resumed(); });
  }

  CompileOptions options_;
  const Policy* policy_ = nullptr;  // null: to be derived from the options
  std::unique_ptr<HookInstallation> installation_;
};

// Frames run by it may outlive the mode.
EverywhereFrames& everywhere_frames() {
  static auto* frames = new EverywhereFrames();
  return *frames;
}

int everywhere_count = 0;

}  // namespace

void enable_everywhere(const CompileOptions& options) {
  everywhere_frames().use(options);
  if (everywhere_count++ > 0) return;
  everywhere_frames().install();
}

void disable_everywhere() {
  if (everywhere_count == 0) raise(ErrorKind::Runtime, "everywhere mode is not enabled");
  if (--everywhere_count == 0) everywhere_frames().uninstall();
}

bool everywhere_enabled() { return everywhere_count > 0; }

FrameHandler& ambient_frames() {
  static AmbientFrames frames;
  return frames;
}

}  // namespace md
