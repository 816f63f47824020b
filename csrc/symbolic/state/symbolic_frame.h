// One frame of a trace: the outermost, or one inlined into it.
#pragma once
#include <vector>

#include "snapshot/snapshot.h"
#include "symbolic/values/value.h"

namespace md {

struct SymbolicFrame {
  const Bytecode* bytecode = nullptr;
  ValuePtr function;            // the running function: an ObjectValue with a source, or a FunctionValue
  std::vector<ValuePtr> slots;  // NullValue if unset
  std::vector<ValuePtr> stack;
  int index = 0;      // the instruction being traced, or the call that is waiting for its callee
  int next = 0;       // the next instruction to trace
  int64_t begun = 0;  // instructions of this frame that the trace has started
  const Policy* policy = nullptr;
  // How the caller uses the result.
  ContinuationKind continuation = ContinuationKind::None;
  ValuePtr continuation_value;
  IteratorValue* generator = nullptr;  // the generator whose body this is
  Handle<DictValue> names;             // the namespace of a class body; null for other frames
  // the dict returned by locals() (local_names.cpp); null: not called, or each call returns a new dict
  Handle<DictValue> locals;
  int64_t locals_step = 0;        // the trace step of the first such call
  int64_t entry_step = 0;         // the trace step, counted from 1, that entered this frame
  std::vector<ValuePtr> handled;  // of a suspended generator: the exceptions it is handling
  size_t handled_below = 0;       // of a running generator: the number of exceptions handled outside it

  // Instructions before the one at `index`; -1 if the trace entered the frame in the middle of that one.
  int64_t executed() const { return begun - 1; }
};

}  // namespace md
