// Calls that are made while capturing, on recording tensors: each op on one becomes a node of the graph that is captured.
// This is how functions under nonstrict_trace and custom operators come into graphs.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Calls the callable on the arguments, tensors replaced by recording ones, and gives its result. What the callable raises ends
// the region: minidynamo._dynamo.traced_calls.CannotCapture is a break for the reason that it names, every other exception is
// Python's to raise again at the call.
ValuePtr call_traced(Tracer& tracer, BorrowedRef callable, const CallArgs& args);

// Calls it on known arguments; the result becomes a constant of the capture. When a trace is done again, what was called before is
// not called again.
ValuePtr constant_result(Tracer& tracer, BorrowedRef callable, const CallArgs& args);

// What constant_result() was given, for all traces of one capture.
class ConstantResults {
 public:
  ConstantResults();
  ~ConstantResults();
  ConstantResults(const ConstantResults&) = delete;
  // The next result of this trace that an earlier one was given; null: none.
  Ref next(uint64_t trace);
  void add(const Ref& result);
  static ConstantResults* current();

 private:
  std::vector<Ref> results_;
  size_t taken_ = 0;
  uint64_t trace_ = 0;
  ConstantResults* outer_;
};

// True in this thread while call_traced runs.
bool is_tracing();

// Appends a host call to the graph that is captured: run(*tensors) is called each time, and must give tensors of the dtypes and
// sizes of `like`; it writes to those of the tensors whose positions are in `written`. Returns recording tensors. Raises
// CannotCapture where an exception of it could not be raised in its place, or the writes are not to be followed. Only inside
// call_traced.
std::vector<Tensor> record_host_call(const std::string& name, BorrowedRef run, std::span<const Tensor> tensors,
                                     std::span<const Tensor> like, std::span<const int> written);

}  // namespace md
