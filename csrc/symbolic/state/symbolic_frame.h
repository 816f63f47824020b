// One frame of a trace: the outermost, or one inlined into it.
#pragma once
#include <vector>

#include "snapshot/snapshot.h"
#include "symbolic/values/value.h"

namespace md {

struct SymbolicFrame {
  const Bytecode* bytecode = nullptr;
  ValuePtr function;            // the function that runs: an ObjectValue with a source, or a FunctionValue
  std::vector<ValuePtr> slots;  // NullValue where unset
  std::vector<ValuePtr> stack;
  int index = 0;      // the instruction being traced, or the call that waits for its callee
  int next = 0;       // where the trace goes on
  int64_t begun = 0;  // instructions of it that the trace has begun
  const Policy* policy = nullptr;
  // What the caller does with the result.
  ContinuationKind continuation = ContinuationKind::None;
  ValuePtr continuation_value;
  IteratorValue* generator = nullptr;  // whose body this is
  Handle<DictValue> names;             // of the body of a class statement; null: another frame
  Handle<DictValue> locals;  // what locals() gave (local_names.cpp); null: nobody asked, or each has a dict of its own
  int64_t locals_step = 0;   // of the trace, that asked first
  int64_t entry_step = 0;    // the trace's step, counted from 1, that entered this frame
  std::vector<ValuePtr> handled;  // of a suspended generator: the exceptions that it handles
  size_t handled_below = 0;       // of a running one: how many are handled outside of it

  // Instructions before the one at `index`; nothing where the trace came to the frame in the midst of it.
  int64_t executed() const { return begun - 1; }
};

}  // namespace md
