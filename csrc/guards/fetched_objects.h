// The objects that a guard check found at its sources, so that a region does not fetch them again.
#pragma once
#include "base/inline_vector.h"
#include "guards/guard_memo.h"

namespace md {

// Borrowed: valid until the next check of the same guards, and while no Python code runs.
class FetchedObjects {
 public:
  // The registers for a check of the program, uninitialised: a check that holds has filled those that it needs.
  PyObject** start(const GuardProgram& program) {
    program_ = nullptr;
    registers_.clear();
    return registers_.append(program.register_count());
  }
  // The check held. `memo` answered it, or is null.
  void finish(const GuardProgram& program, const GuardMemo* memo) {
    program_ = &program;
    memo_ = memo;
  }

  // Null: the check did not need it.
  PyObject* find(const Source* source) const {
    uint32_t at = program_ != nullptr ? program_->register_of(source) : kNoRegister;
    if (at == kNoRegister) return nullptr;
    PyObject* known = memo_ != nullptr ? memo_->object_in(at) : nullptr;
    return known != nullptr ? known : registers_[at];
  }

 private:
  InlineVector<PyObject*, 32> registers_;
  const GuardProgram* program_ = nullptr;  // null: no check has held
  const GuardMemo* memo_ = nullptr;
};

// fetch(), unless the check has found the object; `fetched` may be null.
inline Ref fetch_once(const Source* source, const LocalsView& view, const FetchedObjects* fetched) {
  PyObject* object = fetched != nullptr ? fetched->find(source) : nullptr;
  return object != nullptr ? Ref::share(object) : fetch(source, view);
}

}  // namespace md
