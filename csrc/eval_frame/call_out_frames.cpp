#include "eval_frame/call_out_frames.h"

#include "eval_frame/pending.h"

namespace md {

namespace {

// A function that makes frames of the code; its free variables are empty.
Ref function_like(BorrowedRef model, PyCodeObject* code) {
  Ref function = check(PyFunction_New(reinterpret_cast<PyObject*>(code),
                                      reinterpret_cast<PyFunctionObject*>(model.get())->func_globals));
  if (code->co_nfreevars == 0) return function;
  Ref closure = check(PyTuple_New(code->co_nfreevars));
  for (int i = 0; i < code->co_nfreevars; ++i) PyTuple_SET_ITEM(closure.get(), i, check(PyCell_New(nullptr)).release());
  check_status(PyFunction_SetClosure(function, closure));
  return function;
}

// The function whose frame it is; null: none can be made that can be left again.
Ref function_of(const CallOutFrame& frame, const LocalsView& view) {
  if (frame.return_index < 0) return nullptr;
  Ref function = frame.function != nullptr ? fetch(frame.function, view)
                 : frame.made_here         ? Ref::share(view.function)
                                           : Ref();
  if (!function || !PyFunction_Check(function.get())) return nullptr;
  if (frame.made_here) return function_like(function, frame.code);
  bool same_code = PyFunction_GET_CODE(function.get()) == reinterpret_cast<PyObject*>(frame.code);
  return same_code ? std::move(function) : Ref();
}

// The arguments only served to make the frame.
void clear_locals(LiveFrame& frame) {
  for (int slot = 0; slot < frame.bytecode().slot_count(); ++slot) {
    SlotKind kind = frame.bytecode().slot_kind(slot);
    if (kind == SlotKind::Local) frame.put(slot, Ref());
    if (kind == SlotKind::CellLocal && frame.get(slot)) check_status(PyCell_Set(frame.get(slot), nullptr));
  }
}

void show(LiveFrame& frame, int index) {
  frame.set_index(index);
  frame.set_current_unit(frame.instruction().lasti);
}

PyObject* leave(LiveFrame& frame, int return_index) {
  frame.set_index(return_index);
  if (frame.instruction().op == Opcode::RETURN_VALUE) frame.push(Ref::share(Py_None));
  return hand_over(frame);
}

}  // namespace

void LinkedFrames::run(int site, const std::function<bool(size_t linked)>& call) {
  const CallOutSite& frames = region_.call_outs[static_cast<size_t>(site)];
  show(root_, frames.front().index);
  run_from(frames, 1, call);
}

bool LinkedFrames::run_from(const CallOutSite& frames, size_t level, const std::function<bool(size_t linked)>& call) {
  if (level == frames.size()) return call(level);
  Ref function = function_of(frames[level], view_);
  if (!function) return call(level);
  bool done = false;
  Ref result = enter_inner_frame(function, [&](LiveFrame& frame) {
    clear_locals(frame);
    show(frame, frames[level].index);
    done = run_from(frames, level + 1, call);
    return done ? leave(frame, frames[level].return_index) : leave_by_throw(frame);
  });
  return static_cast<bool>(result);
}

}  // namespace md
