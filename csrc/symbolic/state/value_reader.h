// The trace's knowledge of the objects it reads: one value per source, and the guards that make it valid.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>

#include "symbolic/state/class_builder.h"
#include "symbolic/state/trace_start.h"

namespace md {

class GuardSet;

class ValueReader {
 public:
  ValueReader(const TraceStart& start, const ClassBuilder& classes);
  ~ValueReader();
  const TraceStart& start() const { return start_; }
  const LocalsView& view() const { return start_.view; }
  GuardSet& guards() { return *guards_; }
  const GuardSet& guards() const { return *guards_; }
  SourcePool& sources();

  // --- constants
  ValuePtr none() { return constant(Py_None); }
  ValuePtr boolean(bool value) { return constant(value ? Py_True : Py_False); }
  ValuePtr integer(int64_t value);
  ValuePtr string(const std::string& text);
  // An object that is the same at every run: an atom, or built from guarded ones.
  ValuePtr constant(BorrowedRef object);

  // --- values by source
  const std::unordered_map<const Source*, ValuePtr>& by_source() const { return by_source_; }
  ValuePtr find(const Source* source) const;  // null: not read yet
  void set(const Source* source, ValuePtr value);
  // Pre-existing cells, by object.
  std::unordered_map<PyObject*, ValuePtr>& cells() { return cells_; }
  // From here on all sources of one tensor share its value.
  void unite_tensors() { unites_tensors_ = true; }
  // The place of that value, which may be empty; null in a trace that does not unite them.
  ValuePtr* united_tensor(BorrowedRef tensor) { return unites_tensors_ ? &tensors_[tensor.get()] : nullptr; }

  // --- reading (each adds the guard that makes the result valid)
  PyTypeObject* exact_type(const ValuePtr& value);  // never null: NULL on the stack is an internal error
  bool is_exactly(const ValuePtr& value, PyTypeObject* type) { return exact_type(value) == type; }
  void guard_tensor(TensorValue* tensor);
  // The object itself, for functions, classes, modules and the like, guarded by identity. Null for an object created in
  // the trace.
  BorrowedRef identity_of(const ValuePtr& value);

 private:
  const TraceStart& start_;
  const ClassBuilder& classes_;
  std::unique_ptr<GuardSet> guards_;
  std::unordered_map<const Source*, ValuePtr> by_source_;
  std::unordered_map<PyObject*, ValuePtr> constants_, cells_, tensors_;
  bool unites_tensors_ = false;
};

}  // namespace md
