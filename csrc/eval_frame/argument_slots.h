// Lays out a call's arguments as the slots that the function's frame would have at its first instruction.
#pragma once
#include <array>
#include <vector>

#include "eval_frame/live_frame.h"
#include "guards/locals_view.h"

namespace md {

class ArgumentSlots {
 public:
  // Throws PythonError when out of memory.
  ArgumentSlots(PyFunctionObject* function, PyObject* const* args, Py_ssize_t count, PyObject* keyword_names);
  ArgumentSlots(const ArgumentSlots&) = delete;

  // False if the arguments do not match the parameters; the call itself then raises the TypeError.
  bool bound() const { return bound_; }
  LocalsView view() const { return {slots_, slot_count_, reinterpret_cast<PyObject*>(function_)}; }
  // Stores *args and **kwargs into the entered frame of the call: Python created new ones for it, but a region may own,
  // or have written to, those created here.
  void put_made(LiveFrame& frame) const;

 private:
  bool bind(PyObject* const* args, Py_ssize_t count, PyObject* keyword_names);
  bool bind_keywords(PyObject* const* values, PyObject* keyword_names);
  bool fill_defaults();
  int parameter_named(PyObject* name) const;

  static constexpr int kInline = 32;
  PyFunctionObject* function_;
  PyCodeObject* code_;
  int slot_count_;
  PyObject** slots_;  // borrowed from the caller, or from rest_ and keywords_
  std::array<PyObject*, kInline> inline_;
  std::vector<PyObject*> heap_;
  Ref rest_, keywords_;
  bool bound_;
};

}  // namespace md
