// Steps of a graph that call Python code: custom operators and functions under allow_in_graph.
//  1. The code runs with the user's frames linked, if whoever runs the plan has them: HostCallFrames. Tensors among their locals are operands
//     of the step.
//  2. It is given copies of the tensors that it writes to, since a graph is functional; an input is written at the region's exit. Should a
//     step fail after that, what was written before must be in the inputs: UncommittedWrites.
//  3. Its exception is raised at its own instruction. Where a handler or a change that others see lies before it, the site has a
//     snapshot, whose outputs are operands of the step: the frames are made what they are to be there first.
//  4. It is never run twice for one run of a plan: host_calls_begun() says whether that has begun.
#pragma once
#include <functional>

#include "symbolic/trace/tracer.h"

namespace md {

struct HostCallRequest {
  std::string name;
  BorrowedRef run;  // run(*operands) gives a tuple of the results
  std::vector<ValueRef> operands;
  std::vector<TensorValue*> tensors;  // of the operands; null for constants
  std::vector<TensorSpec> results;
  std::vector<std::pair<int, TensorValue*>> written;  // operands that run() writes to: position, value
};

// Appends the node, with the results first among its outputs, and makes the written tensors what run() leaves in them.
// BreakSignal where an exception of it could not be raised in its place, or the writes are not to be followed. RestartSignal where
// the state cannot be told that an exception of it finds.
Node* append_host_call(Tracer& tracer, const HostCallRequest& request);

// Links the user's frames while a host call runs.
class HostCallFrames {
 public:
  virtual ~HostCallFrames() = default;
  virtual uint64_t trace() const = 0;  // whose graph is being run
  // Runs `call` under the frames of the site, which hold `locals` then and are left again. If it gave false, then by the
  // exception that it has set; those of which the site has a snapshot, as if there was none.
  // What it is told is how many frames of the site are linked.
  virtual void run(int site, std::span<Tensor> locals, const std::function<bool(size_t linked)>& call) = 0;
};

// The frames for host calls of this thread, while this lives.
class HostCallFramesScope {
 public:
  explicit HostCallFramesScope(HostCallFrames* frames);
  ~HostCallFramesScope();
  HostCallFramesScope(const HostCallFramesScope&) = delete;

 private:
  HostCallFrames* previous_;
  int64_t begun_before_;
};

// Whether the plan that this thread runs has come past a host call.
bool host_call_has_run();

// While a plan runs: writes by host calls that are to be in the inputs if the plan fails. The destructor puts them there, unless
// commit_at_exit() was called first: then the region's own effects do.
class UncommittedWrites {
 public:
  UncommittedWrites();
  ~UncommittedWrites();
  UncommittedWrites(const UncommittedWrites&) = delete;
  void commit_at_exit() { writes_.clear(); }

 private:
  friend struct HostCallRun;
  std::vector<std::pair<Tensor, Tensor>> writes_;  // into the first the second
  UncommittedWrites* outer_;
};

// Host calls that this thread has begun to run, ever.
int64_t host_calls_begun();
// The host call whose exception is set; empty if the exception is no host call's. Taken once.
struct FailedHostCall {
  uint64_t trace;  // of the region
  int site;
  int instruction;              // of the region's own frame
  std::vector<Tensor> outputs;  // of the site's snapshot
  std::vector<std::pair<Tensor, Tensor>>
      written;  // to be written after the snapshot's effects: into the first the second
};
std::optional<FailedHostCall> take_failed_host_call();

}  // namespace md
