#include "eval_frame/compiled_call.h"

#include "base/config.h"
#include "base/interrupts.h"
#include "cpython/errors.h"
#include "cpython/stack_room.h"
#include "eval_frame/argument_slots.h"
#include "eval_frame/driver.h"
#include "eval_frame/frame_entry.h"
#include "eval_frame/left_code.h"
#include "eval_frame/pending.h"
#include "eval_frame/region_lookup.h"
#include "eval_frame/signal_service.h"
#include "eval_frame/watched_call.h"

namespace md {

namespace {

uint64_t forced_backend = 0;

// While a frame of a compiled call runs in the driver: frames reached from it come to us, under its policy.
class DrivenCall {
 public:
  explicit DrivenCall(const Policy* policy) : handler_(&ambient_frames()), policy_(policy) {}

 private:
  HookInstallation installation_;
  AmbientHandler handler_;
  AmbientPolicy policy_;
};

PyObject* call_plainly(BorrowedRef function, PyObject* const* args, size_t nargsf, PyObject* keyword_names) {
  return PyObject_Vectorcall(function, args, nargsf, keyword_names);
}

PyObject* call_undriven(BorrowedRef function, PyObject* const* args, size_t nargsf, PyObject* keyword_names) {
  AmbientPolicy none(nullptr);
  return call_plainly(function, args, nargsf, keyword_names);
}

// The frame runs uncaptured, its callees are captured. `entry` is the region that has nothing to capture, null if there
// is none.
PyObject* call_with_callees_captured(BorrowedRef function, const Policy* policy, PyObject* const* args, size_t nargsf,
                                     PyObject* keyword_names, RegionEntryPtr entry) {
  LeftCode left(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get())));
  if (entry != nullptr && entry->was_learned()) left.watch(std::move(entry));
  AmbientHandler handler(&ambient_frames());
  AmbientPolicy ambient(policy);
  if (!left.install()) return call_plainly(function, args, nargsf, keyword_names);
  BorrowedRef skipped = exchange_skipped_function(function);
  PyObject* result = call_plainly(function, args, nargsf, keyword_names);
  exchange_skipped_function(skipped);
  return result;
}

// Creates the frame of a call whose region has been looked up by its arguments, and drives it.
struct CallInFrame {
  BorrowedRef function;
  const Policy* policy;
  PyObject* const* args;
  size_t nargsf;
  PyObject* keyword_names;
  const ArgumentSlots& slots;

  template <typename Drive>
  PyObject* operator()(Drive drive) const {
    DrivenCall call(policy);
    return call_with_continuation(function, args, nargsf, keyword_names,
                                  [&](LiveFrame& frame) {
                                    slots.put_made(frame);
                                    return drive(frame);
                                  })
        .release();
  }

  PyObject* run_inside(RegionRun& run) const {
    return (*this)([&](LiveFrame& frame) { return FrameDriver(frame, policy).run_inside(run); });
  }
  PyObject* run_from(RegionRun& run) const {
    return (*this)([&](LiveFrame& frame) { return FrameDriver(frame, policy).run_from(run); });
  }
  PyObject* run_workless(RegionEntryPtr entry) const {
    return (*this)([&](LiveFrame& frame) { return FrameDriver(frame, policy).run_workless(std::move(entry)); });
  }
  // Deferred I/O without a frame has raised.
  PyObject* run_stopped(RegionRun& run) const {
    run.replay().keep_error();
    return (*this)([&](LiveFrame& frame) { return FrameDriver(frame, policy).run_stopped(run); });
  }
  // The code of a backend, or a signal handler, has raised: the exception leaves the frame at its first line.
  PyObject* raise_at_start() const {
    Ref error = take_raised();
    return (*this)([&](LiveFrame& frame) {
      set_raised(std::move(error));
      return leave_by_throw(frame);
    });
  }
  // A signal handler has raised after the region's effects: raises at the return.
  PyObject* raise_at_return(RegionRun& run) const {
    Ref error = take_raised();
    return (*this)([&](LiveFrame& frame) { return FrameDriver(frame, policy).run_ended(run, std::move(error)); });
  }
};

PyObject* call_captured(BorrowedRef function, const Policy* policy, PyObject* const* args, size_t nargsf,
                        PyObject* keyword_names) {
  auto* python_function = reinterpret_cast<PyFunctionObject*>(function.get());
  ArgumentSlots slots(python_function, args, PyVectorcall_NARGS(nargsf), keyword_names);
  if (!slots.bound()) return call_undriven(function, args, nargsf, keyword_names);
  const Bytecode* bytecode = Bytecode::of(reinterpret_cast<PyCodeObject*>(python_function->func_code));
  Bailout why;
  FetchedObjects fetched;
  RegionEntryPtr entry = find_or_capture({*bytecode, 0, 0, slots.view(), policy, nullptr}, why, fetched);
  CallInFrame in_frame{function, policy, args, nargsf, keyword_names, slots};
  if (entry != nullptr && entry->is_driven()) return in_frame.run_workless(std::move(entry));
  if (entry == nullptr || entry->is_left())
    return call_with_callees_captured(function, policy, args, nargsf, keyword_names, std::move(entry));
  RegionRun run(std::move(entry), slots.view(), &fetched);
  if (run.entry()->needs_frame()) return in_frame.run_inside(run);
  try {
    if (!run.run_plan()) return call_undriven(function, args, nargsf, keyword_names);
  } catch (const PythonError&) {
    return in_frame.raise_at_start();
  }
  if (run.region().exit != ExitKind::Return) return in_frame.run_from(run);
  Ref result = run.take_result();
  if (!result) return in_frame.run_stopped(run);
  if (interrupt_waits() && !run_waiting_handlers()) return in_frame.raise_at_return(run);
  return result.release();
}

// Until a call has returned: one inside another compiled call tells nothing of its own.
PyObject* call_watched(BorrowedRef function, const CompileOptions& options, const Policy* policy, PyObject* const* args,
                       size_t nargsf, PyObject* keyword_names) {
  WatchedCall watched;
  Ref result = Ref::steal(call_captured(function, policy, args, nargsf, keyword_names));
  if (result && !std::exchange(options.is_judged, true)) watched.report(function);
  return result.release();
}

bool is_generator_like(BorrowedRef function) {
  return pv_makes_generator(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()))) != 0;
}

}  // namespace

uint64_t exchange_forced_backend(uint64_t backend) { return std::exchange(forced_backend, backend); }

const Policy* policy_for_call(const CompileOptions& options, const InheritedPolicy& from) {
  Policy policy;
  policy.fullgraph = options.fullgraph || (from.ambient != nullptr && from.ambient->fullgraph);
  policy.error_on_graph_break = from.error_on_graph_break();
  // Other hooks do not see frames created at a nested break.
  policy.nested_graph_breaks = config().nested_graph_breaks && !another_hook_is_there();
  policy.dynamic = options.dynamic;
  policy.backend = forced_backend != 0 ? forced_backend : options.backend;
  policy.recompile_limit = options.recompile_limit;
  policy.config_fingerprint = config_fingerprint();
  if (options.last_policy == nullptr || *options.last_policy != policy) options.last_policy = intern(policy);
  return options.last_policy;
}

PyObject* call_compiled(BorrowedRef function, const CompileOptions& options, PyObject* const* args, size_t nargsf,
                        PyObject* keyword_names) noexcept {
  try {
    const InheritedPolicy& inherited = inherited_policy();
    bool disabled = config().disable || stance() == Stance::ForceEager ||
                    (inherited.ambient != nullptr && inherited.ambient->disable);
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()));
    if (disabled || is_generator_like(function) || pv_has_stack_room() == 0 ||
        pv_code_traced(PyThreadState_Get(), code) != 0)
      return call_undriven(function, args, nargsf, keyword_names);
    const Policy* policy = policy_for_call(options, inherited);
    if (!options.is_judged && inherited.ambient == nullptr)
      return call_watched(function, options, policy, args, nargsf, keyword_names);
    return call_captured(function, policy, args, nargsf, keyword_names);
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

}  // namespace md
