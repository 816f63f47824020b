// Calls that write something out. They are made when the region is left, in their place among its effects.
//  1. When a call is made everything that Python code could look at is as in plain Python: objects, cells, input tensors and modes
//     have been written so far and no further.
//  2. A call that runs code in Python runs it with the user's frames linked. Afterwards it is asked whether anything is another thing
//     that the region was captured for, read, wrote or computed with; if so the region is left there.
//  3. An exception of a call is raised at its instruction; what comes after it has not happened.
//  4. A plan that fails has written nothing out, and the frame is run again by Python.
#pragma once
#include <unordered_map>

#include "symbolic/state/graph_builder.h"
#include "symbolic/state/region.h"

namespace md {

// What others could reach at the time of the call, and what it held then.
struct ShownValue {
  ValuePtr value;
  std::vector<ValuePtr> contents;
  int version = 0;  // of a tensor's base
};

struct QueuedOutput {
  OutputSite site;
  std::vector<ValueRef> locals, after;  // what the Output recipes of its snapshots name
  std::vector<std::pair<ValuePtr, RecipeId>> made_locals, made_after;
  std::vector<ShownValue> shown;
  std::vector<ShownValue> frames;  // tensors that the state after the call holds
  int64_t step = 0;
  GraphBreak graph_break;  // of the region that ends before it instead
  const Policy* policy = nullptr;
};

// What the region calls at run time: the queued outputs, the host calls of its graph, and what was committed before the last output.
class DeferredOutput {
 public:
  explicit DeferredOutput(const TracedModes& modes) : logged_modes_(modes) {}
  bool has_output() const { return !queued_.empty(); }
  const std::vector<QueuedOutput>& queued() const { return queued_; }
  std::vector<QueuedOutput> take_queued() { return std::move(queued_); }
  void add(QueuedOutput output) { queued_.push_back(std::move(output)); }
  const std::vector<HostCallSite>& host_calls() const { return host_calls_; }
  std::vector<HostCallSite> take_host_calls() { return std::move(host_calls_); }
  int add_host_call(HostCallSite site);  // returns its number
  // Writes to an input that are among the effects already.
  int logged_version(const TensorBase* base) const;
  void set_logged_version(const TensorBase* base, int version) { logged_versions_[base] = version; }
  TracedModes& logged_modes() { return logged_modes_; }
  const TracedModes& logged_modes() const { return logged_modes_; }

 private:
  std::vector<QueuedOutput> queued_;
  std::vector<HostCallSite> host_calls_;
  std::unordered_map<const TensorBase*, int> logged_versions_;
  TracedModes logged_modes_;
};

// The same object with the same contents whenever it is made: what exists, constants, tensors, tuples of these.
bool is_fixed(const ValuePtr& value);
// What the value holds that changes when it is written to. False: it cannot be told.
bool add_shown(const ValuePtr& value, std::vector<ShownValue>& shown);
bool is_as_shown(const ShownValue& shown);

}  // namespace md
