// A call's arguments laid out as the slots that the function's frame would have at its first instruction.
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

  // False: the arguments do not fit the parameters; the call itself raises the TypeError.
  bool bound() const { return bound_; }
  LocalsView view() const { return {slots_, slot_count_, reinterpret_cast<PyObject*>(function_)}; }
  // Of the call's frame, entered: its *args and **kwargs are made anew, and a region may hold, or have written to, those here.
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
  PyObject** slots_;  // borrowed: arguments live as long as the call, what is made here in rest_ and keywords_
  std::array<PyObject*, kInline> inline_;
  std::vector<PyObject*> heap_;
  Ref rest_, keywords_;
  bool bound_;
};

}  // namespace md
