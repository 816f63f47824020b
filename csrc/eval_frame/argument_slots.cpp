#include "eval_frame/argument_slots.h"

#include <algorithm>

namespace md {

ArgumentSlots::ArgumentSlots(PyFunctionObject* function, PyObject* const* args, Py_ssize_t count,
                             PyObject* keyword_names)
    : function_(function),
      code_(reinterpret_cast<PyCodeObject*>(function->func_code)),
      slot_count_(code_->co_nlocalsplus) {
  if (slot_count_ > kInline) {
    heap_.resize(slot_count_);
    slots_ = heap_.data();
  } else {
    slots_ = inline_.data();
    std::fill_n(slots_, slot_count_, nullptr);
  }
  bound_ = bind(args, count, keyword_names);
}

bool ArgumentSlots::bind(PyObject* const* args, Py_ssize_t count, PyObject* keyword_names) {
  Py_ssize_t taken = std::min<Py_ssize_t>(count, code_->co_argcount);
  std::copy_n(args, taken, slots_);
  int parameters = code_->co_argcount + code_->co_kwonlyargcount;
  int next = parameters;
  if ((code_->co_flags & CO_VARARGS) != 0) {
    rest_ = check(PyTuple_New(count - taken));
    for (Py_ssize_t i = taken; i < count; ++i) PyTuple_SET_ITEM(rest_.get(), i - taken, Py_NewRef(args[i]));
    slots_[next++] = rest_;
  } else if (count > taken) {
    return false;
  }
  if ((code_->co_flags & CO_VARKEYWORDS) != 0) {
    keywords_ = check(PyDict_New());
    slots_[next] = keywords_;
  }
  if (keyword_names != nullptr && !bind_keywords(args + count, keyword_names)) return false;
  return (taken == code_->co_argcount && code_->co_kwonlyargcount == 0) || fill_defaults();
}

void ArgumentSlots::put_made(LiveFrame& frame) const {
  int slot = code_->co_argcount + code_->co_kwonlyargcount;
  for (const Ref* made : {&rest_, &keywords_}) {
    if (!*made) continue;
    if (frame.bytecode().slot_kind(slot) == SlotKind::Local) {
      frame.put(slot, *made);
    } else {
      check_status(PyCell_Set(frame.get(slot), *made));
    }
    ++slot;
  }
}

int ArgumentSlots::parameter_named(PyObject* name) const {
  int parameters = code_->co_argcount + code_->co_kwonlyargcount;
  for (int i = code_->co_posonlyargcount; i < parameters; ++i) {
    PyObject* known = PyTuple_GET_ITEM(code_->co_localsplusnames, i);
    if (known == name || PyUnicode_Compare(known, name) == 0) return i;
  }
  return -1;
}

bool ArgumentSlots::bind_keywords(PyObject* const* values, PyObject* keyword_names) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keyword_names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(keyword_names, i);
    int slot = parameter_named(name);
    if (slot >= 0) {
      if (slots_[slot] != nullptr) return false;
      slots_[slot] = values[i];
    } else if (keywords_) {
      if (!PyUnicode_CheckExact(name) || PyDict_GetItemWithError(keywords_, name) != nullptr) return false;
      check_status(PyDict_SetItem(keywords_, name, values[i]));
    } else {
      return false;
    }
  }
  return true;
}

bool ArgumentSlots::fill_defaults() {
  PyObject* defaults = function_->func_defaults;
  Py_ssize_t count = defaults != nullptr ? PyTuple_GET_SIZE(defaults) : 0;
  for (int i = 0; i < code_->co_argcount; ++i) {
    if (slots_[i] != nullptr) continue;
    Py_ssize_t at = i - (code_->co_argcount - count);
    if (at < 0) return false;
    slots_[i] = PyTuple_GET_ITEM(defaults, at);
  }
  for (int i = code_->co_argcount; i < code_->co_argcount + code_->co_kwonlyargcount; ++i) {
    if (slots_[i] != nullptr) continue;
    PyObject* known = function_->func_kwdefaults;
    PyObject* value =
        known != nullptr ? PyDict_GetItemWithError(known, PyTuple_GET_ITEM(code_->co_localsplusnames, i)) : nullptr;
    if (value == nullptr) return false;
    slots_[i] = value;
  }
  return true;
}

}  // namespace md
