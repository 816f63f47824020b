// Calls made during capture, on recording tensors: each op on one becomes a node of the captured graph. Functions under
// nonstrict_trace and custom operators enter graphs this way.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Calls the callable with tensors replaced by recording ones, and returns its result. An exception ends the region:
// minidynamo._dynamo.traced_calls.CannotCapture is a break for the reason that it names; for any other one the
// interpreter repeats the call and raises it.
ValuePtr call_traced(Tracer& tracer, BorrowedRef callable, const CallArgs& args);

// The same for a function over tensors of a family which regions call as it is: the family's tracer makes the step.
// self: where the object with a state is whose method the function is; null: it is none.
ValuePtr call_opaque(Tracer& tracer, const TensorFamily& family, BorrowedRef function, const CallArgs& args,
                     const Source* self = nullptr);
// The family of another library's tensors among the arguments; null if there are none.
const TensorFamily* other_family(const CallArgs& args);

// Calls the callable with known arguments; the result becomes a constant of the capture. A repeated trace does not
// repeat earlier calls.
ValuePtr constant_result(Tracer& tracer, BorrowedRef callable, const CallArgs& args);

// The results of constant_result(), shared by all traces of one capture.
class ConstantResults {
 public:
  ConstantResults();
  ~ConstantResults();
  ConstantResults(const ConstantResults&) = delete;
  // The next result recorded by an earlier trace; null if there is none.
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

// Appends a host call to the captured graph: run(*tensors) is called in each run, and must return tensors with the
// dtypes and sizes of `like`; `written` lists the positions of the tensors that it writes to. Returns recording
// tensors. Raises CannotCapture if an exception of the call could not be raised at its place, unless it raises none, or
// the writes cannot be tracked. Only valid inside call_traced.
std::vector<Tensor> record_host_call(const std::string& name, BorrowedRef run, std::span<const Tensor> tensors,
                                     std::span<const Tensor> like, std::span<const int> written, bool may_raise = true);

// Appends a call of a function of another library (library_calls.h) with recording tensors among its arguments, also in
// lists and tuples. `result`: what it returns for other elements of the same dtypes, sizes and strides. Returns
// recording tensors; raises CannotCapture as above. Only valid inside call_traced.
std::vector<Tensor> record_library_call(const std::string& name, BorrowedRef function, BorrowedRef positional,
                                        BorrowedRef keywords, BorrowedRef result, bool repeatable,
                                        BorrowedRef generator);
// An object of the library with the dtype, sizes and strides of a recording tensor and any elements.
Ref example_of(const Tensor& recording);

}  // namespace md
