#include "eval_frame/host_call_frames.h"

#include "eval_frame/pending.h"
#include "snapshot/policy.h"

#include <algorithm>

namespace md {

namespace {

// A function whose calls create frames of the code; its free variables are empty cells.
Ref function_like(BorrowedRef model, PyCodeObject* code) {
  Ref function = check(PyFunction_New(reinterpret_cast<PyObject*>(code),
                                      reinterpret_cast<PyFunctionObject*>(model.get())->func_globals));
  if (code->co_nfreevars == 0) return function;
  Ref closure = check(PyTuple_New(code->co_nfreevars));
  for (int i = 0; i < code->co_nfreevars; ++i) PyTuple_SET_ITEM(closure.get(), i, check(PyCell_New(nullptr)).release());
  check_status(PyFunction_SetClosure(function, closure));
  return function;
}

// The function that owns the frame; null if no frame can be created.
Ref function_of(const HostCallFrame& frame, const LocalsView& view) {
  Ref function = frame.function != nullptr ? fetch(frame.function, view)
                 : frame.made_here         ? Ref::share(view.function)
                                           : Ref();
  if (!function || !PyFunction_Check(function.get())) return nullptr;
  if (frame.made_here) return function_like(function, frame.code);
  bool same_code = PyFunction_GET_CODE(function.get()) == reinterpret_cast<PyObject*>(frame.code);
  return same_code ? std::move(function) : Ref();
}

// The arguments were only needed to create the frame.
void clear_locals(LiveFrame& frame) {
  for (int slot = 0; slot < frame.bytecode().slot_count(); ++slot) {
    SlotKind kind = frame.bytecode().slot_kind(slot);
    if (kind == SlotKind::Local) frame.put(slot, Ref());
    if (kind == SlotKind::CellLocal && frame.get(slot)) check_status(PyCell_Set(frame.get(slot), nullptr));
  }
}

bool is_local(LiveFrame& frame, int slot) { return frame.bytecode().slot_kind(slot) == SlotKind::Local; }

bool holds_cell(LiveFrame& frame, int slot) { return frame.get(slot) && PyCell_Check(frame.get(slot).get()); }

// Of a frame created here, with cells of its own.
void set_locals(LiveFrame& frame, const std::vector<LocalValue>& values) {
  for (const auto& [slot, value] : values) {
    bool is_cell = value && PyCell_Check(value.get());  // an existing cell, shared with a function of the region
    if (is_local(frame, slot) || is_cell) {
      frame.put(slot, value);
    } else if (holds_cell(frame, slot)) {
      check_status(PyCell_Set(frame.get(slot), value));
    }
  }
}

// Temporarily sets the locals of the region's own frame; the region continues with the previous ones.
class ShownLocals {
 public:
  ShownLocals(LiveFrame& frame, const std::vector<LocalValue>& values) : frame_(frame) {
    for (const auto& [slot, value] : values) {
      if (is_local(frame, slot)) {
        before_.push_back({slot, Ref::share(frame.get(slot))});
      } else if (holds_cell(frame, slot)) {
        before_.push_back({slot, Ref::steal(PyCell_Get(frame.get(slot)))});
      } else {
        continue;
      }
      set(slot, value);
    }
  }
  ~ShownLocals() {
    for (auto& [slot, value] : before_) set(slot, std::move(value));
  }
  ShownLocals(const ShownLocals&) = delete;

 private:
  void set(int slot, Ref value) {
    if (is_local(frame_, slot)) {
      frame_.put(slot, std::move(value));
    } else {
      PyCell_Set(frame_.get(slot), value);
    }
  }
  LiveFrame& frame_;
  std::vector<LocalValue> before_;
};

void show(LiveFrame& frame, int index) {
  frame.set_index(index);
  frame.set_current_unit(frame.instruction().lasti);
}

// A function that never returns is left by raising at its start, where no handler is
// active; then the result is null too.
PyObject* leave(LiveFrame& frame, int return_index) {
  frame.set_index(std::max(return_index, 0));
  if (return_index < 0) {
    PyErr_SetNone(PyExc_RuntimeError);
    return leave_by_throw(frame);
  }
  if (frame.instruction().op == Opcode::RETURN_VALUE) frame.push(Ref::share(Py_None));
  return resume_in_interpreter(frame);
}

}  // namespace

std::vector<Ref> functions_of(const HostCallSite& site, const LocalsView& view) {
  std::vector<Ref> functions(site.frames.size());
  for (size_t level = 1; level < functions.size(); ++level) functions[level] = function_of(site.frames[level], view);
  return functions;
}

FrameLocals build_locals(const HostCallSite& site, ValueBuilder& builder) {
  FrameLocals locals;
  for (const FrameState& state : site.locals.frames) {
    std::vector<LocalValue>& values = locals.emplace_back();
    for (const SlotValue& slot : state.slots) values.push_back({slot.slot, builder.build(slot.value)});
  }
  builder.finish();
  return locals;
}

void LinkedCall::run(const Call& call) {
  // Frames entered here belong to no compiled call.
  AmbientPolicy none(nullptr);
  show(root_, site_.frames.front().index);
  ShownLocals shown(root_, locals_.front());
  run_from(1, call);
  if (error_) set_raised(std::move(error_));
}

// The exception propagates through the frames of a snapshot, not through these.
bool LinkedCall::run_from(size_t level, const Call& call) {
  bool done = link(level, call);
  if (done || !site_.failure || level != std::min(site_.failure->frames.size(), deepest_)) return done;
  error_ = take_raised();
  return true;
}

bool LinkedCall::link(size_t level, const Call& call) {
  deepest_ = level;
  if (level == site_.frames.size()) return call(level);
  const HostCallFrame& shown = site_.frames[level];
  const Ref& function = functions_[level];
  if (!function) return call(level);
  bool done = false;
  Ref result = enter_inner_frame(function, [&](LiveFrame& frame) {
    clear_locals(frame);
    show(frame, shown.index);
    set_locals(frame, locals_[level]);
    done = run_from(level + 1, call);
    return done ? leave(frame, shown.return_index) : leave_by_throw(frame);
  });
  if (done && shown.return_index < 0) PyErr_Clear();
  return result || (done && shown.return_index < 0);
}

Ref LinkedFrames::self(int site) const {
  const Source* source = region_.host_calls[static_cast<size_t>(site)].self;
  return source != nullptr ? fetch(source, view_) : Ref();
}

void LinkedFrames::run(int number, std::span<Tensor> tensors, const std::function<bool(size_t linked)>& call) {
  const HostCallSite& site = region_.host_calls[static_cast<size_t>(number)];
  ValueBuilder builder(site.locals, view_);
  builder.set_outputs(tensors);
  std::vector<Ref> functions = functions_of(site, view_);
  FrameLocals locals = build_locals(site, builder);
  LinkedCall(root_, site, functions, locals).run(call);
}

}  // namespace md
