// Deferred output: calls that write something out (print, logging). They run at the exit of the region, in their order
// among its effects.
//   1. When a call runs, everything that Python code can observe is as in eager Python: objects, cells, input tensors
//      and modes have been written up to the call and no further.
//   2. A call that runs Python code runs with the user's frames linked. Afterwards the region checks that nothing it
//      was specialised for, read, wrote or computed with has changed; if something has, it exits there.
//   3. An exception of a call is raised at its instruction; later effects have not happened.
//   4. A plan that fails has written nothing out, and the interpreter runs the frame again.
#pragma once
#include <unordered_map>

#include "symbolic/breaks/graph_break.h"
#include "symbolic/state/call_sites.h"
#include "symbolic/state/graph_builder.h"

namespace md {

// A value that other code could reach at the time of the call, and its contents then.
struct ShownValue {
  ValuePtr value;
  std::vector<ValuePtr> contents;
  int version = 0;  // of a tensor's base
};

struct QueuedOutput {
  OutputSite site;
  std::vector<ValueRef> locals, after;  // the values that the Output recipes of its snapshots refer to
  std::vector<std::pair<ValuePtr, RecipeId>> made_locals, made_after;
  std::vector<ShownValue> shown;
  std::vector<ShownValue> frames;  // tensors held by the state after the call
  int64_t step = 0;
  GraphBreak graph_break;  // set if the region ends before the call instead
  const Policy* policy = nullptr;
};

// What the region calls at run time: the queued outputs, the host calls of its graph, and the state committed before
// the last output.
class DeferredOutput {
 public:
  DeferredOutput();
  ~DeferredOutput();
  bool has_output() const { return !queued_.empty(); }
  const std::vector<QueuedOutput>& queued() const { return queued_; }
  std::vector<QueuedOutput> take_queued();
  void add(QueuedOutput output);
  const std::vector<HostCallSite>& host_calls() const { return host_calls_; }
  std::vector<HostCallSite> take_host_calls();
  int add_host_call(HostCallSite site);  // returns its index
  void set_self_of_last_call(const Source* self) { host_calls_.back().self = self; }
  // The version of an input whose writes are already in the log of effects.
  int logged_version(const TensorBase* base) const;
  void set_logged_version(const TensorBase* base, int version);

 private:
  std::vector<QueuedOutput> queued_;
  std::vector<HostCallSite> host_calls_;
  std::unordered_map<const TensorBase*, int> logged_versions_;
};

// Returns true if rebuilding the value always yields the same object with the same contents: pre-existing objects,
// constants, tensors, and tuples of these.
bool is_fixed(const ValuePtr& value);
// Adds the mutable parts of the value. Returns false if they cannot be determined.
bool add_shown(const ValuePtr& value, std::vector<ShownValue>& shown);
bool is_as_shown(const ShownValue& shown);

}  // namespace md
