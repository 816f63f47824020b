// Host calls: steps of a graph that call Python code (custom operators, functions under allow_in_graph).
//   1. The code runs with the user's frames linked, if the caller of the plan provides them (HostCallFrames). Tensors
//      among their locals are operands of the step.
//   2. It receives copies of the tensors that it writes to, since a graph is functional; inputs are written at the
//      region's exit. If a later step fails, the earlier writes must be committed to the inputs: UncommittedWrites.
//   3. Its exception is raised at its own instruction. If a handler or an observable change precedes it, the site has a
//      snapshot, whose outputs are operands of the step, and the frames are first brought to that state.
//   4. It never runs twice in one run of a plan: host_calls_begun() shows whether it has started.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cpython/ref.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

namespace md {

class Source;
class Tracer;
struct LibraryCall;
struct TensorValue;

struct HostCallRequest {
  std::string name;
  BorrowedRef run;  // run(*operands) returns a tuple of the results
  std::vector<ValueRef> operands;
  std::vector<TensorValue*> tensors;  // of the operands; null for constants
  std::vector<TensorSpec> results;
  std::vector<std::pair<int, TensorValue*>> written;  // operands that run() writes to: position, value
  bool is_number = false;                             // run() returns a float or an int, the only result
  std::shared_ptr<const LibraryCall> library = {};    // instead of run()
  const Source* self = nullptr;                       // of the object whose method is called
  bool may_raise = true;                              // false: nothing but want of memory stops it
};

// Appends the node, with the results first among its outputs, and updates the written tensors. Throws BreakSignal if an
// exception of the call could not be raised at its place, or the writes cannot be tracked; RestartSignal if the state
// for such an exception cannot be described.
Node* append_host_call(Tracer& tracer, const HostCallRequest& request);

// Links the user's frames while a host call runs.
class HostCallFrames {
 public:
  virtual ~HostCallFrames() = default;
  virtual uint64_t trace() const = 0;  // the trace of the graph being run
  // Runs `call` with the frames of the site linked and holding `locals`, and unlinks them afterwards. If `call`
  // returned false, unlinks them by the exception that it has set, or without one if the site has a snapshot of them.
  // `linked` is the number of linked frames of the site.
  virtual void run(int site, std::span<Tensor> locals, const std::function<bool(size_t linked)>& call) = 0;
  // The object whose method the site calls; null: it calls a function.
  virtual Ref self(int site) const = 0;
};

// Installs the frames for host calls of this thread.
class HostCallFramesScope {
 public:
  explicit HostCallFramesScope(HostCallFrames* frames);
  ~HostCallFramesScope();
  HostCallFramesScope(const HostCallFramesScope&) = delete;

 private:
  HostCallFrames* previous_;
  int64_t begun_before_;
};

// While it lives, `check` is called before each host call of this thread, and may throw: the call is not made then.
class BeforeHostCalls {
 public:
  explicit BeforeHostCalls(const std::function<void()>* check);
  ~BeforeHostCalls();
  BeforeHostCalls(const BeforeHostCalls&) = delete;
  BeforeHostCalls& operator=(const BeforeHostCalls&) = delete;

 private:
  const std::function<void()>* before_;
};

// Returns true if the plan that this thread is running has started a host call.
bool host_call_has_run();

// While a plan runs: writes by host calls that must reach the inputs if the plan fails. The destructor commits them,
// unless commit_at_exit() was called: then the region's effects do.
class UncommittedWrites {
 public:
  UncommittedWrites();
  ~UncommittedWrites();
  UncommittedWrites(const UncommittedWrites&) = delete;
  void commit_at_exit() { writes_.clear(); }

 private:
  friend struct HostCallRun;
  std::vector<std::pair<Tensor, Tensor>> writes_;  // (target, value)
  UncommittedWrites* outer_;
};

// Number of host calls ever started by this thread.
int64_t host_calls_begun();
// The host call that raised the current exception; nullopt if no host call did. Can be taken once.
struct FailedHostCall {
  uint64_t trace;  // of the region
  int site;
  int instruction;                                 // of the region's own frame
  std::vector<Tensor> outputs;                     // of the site's snapshot
  std::vector<std::pair<Tensor, Tensor>> written;  // (target, value), to be written after the snapshot's effects
};
std::optional<FailedHostCall> take_failed_host_call();

}  // namespace md
