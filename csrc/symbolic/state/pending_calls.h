// Pending calls: C code suspended while the Python frames that it called run, and the generators among those frames.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "symbolic/values/value.h"

namespace md {

class PendingCalls {
 public:
  PendingCalls();
  ~PendingCalls();

  // The number of frames below the call, and the stack of the last of them before the calling instruction.
  struct Call {
    size_t depth;
    std::vector<ValuePtr> stack;
  };
  bool empty() const { return calls_.empty(); }
  const Call& outermost() const { return calls_.front(); }
  void enter(Call call);
  std::vector<ValuePtr> leave();  // returns the stack of the innermost call

  // The result of the function that the pending call is waiting for.
  void set_result(ValuePtr result) { result_ = std::move(result); }
  ValuePtr take_result() { return std::exchange(result_, nullptr); }
  // The exception to raise in the generator that is about to run.
  void set_thrown(ValuePtr exception) { thrown_ = std::move(exception); }
  ValuePtr take_thrown() { return std::exchange(thrown_, nullptr); }

  // C code that catches an exception of the function that it calls.
  struct Awaited {
    size_t stop_depth;  // of code that catches StopIteration; SIZE_MAX
    bool goes_on;       // without an exception; false: it raises another one
  };
  // Returns true if C code at this depth catches StopIteration.
  bool awaits_stop(size_t depth) const { return !awaited_.empty() && awaited_.back().stop_depth == depth; }
  bool catches() const { return std::ranges::any_of(awaited_, &Awaited::goes_on); }
  std::vector<Awaited>& awaited() { return awaited_; }

  const std::vector<Handle<IteratorValue>>& generators() const { return generators_; }
  void add_generator(Handle<IteratorValue> generator);

  // Calls of a library's functions for which functions of ours run: what breaks below is the library's call.
  bool stands_in() const { return stand_ins_ > 0; }
  class StandInScope {
   public:
    explicit StandInScope(PendingCalls& calls) : calls_(calls) { ++calls_.stand_ins_; }
    ~StandInScope() { --calls_.stand_ins_; }
    StandInScope(const StandInScope&) = delete;
    StandInScope& operator=(const StandInScope&) = delete;

   private:
    PendingCalls& calls_;
  };

  // Objects whose __repr__ is running, each with the function that runs it, outermost first.
  std::vector<std::pair<PyObject*, ValuePtr>>& shown() { return shown_; }

 private:
  std::vector<Call> calls_;
  ValuePtr result_, thrown_;
  std::vector<Awaited> awaited_;
  std::vector<Handle<IteratorValue>> generators_;
  std::vector<std::pair<PyObject*, ValuePtr>> shown_;
  int stand_ins_ = 0;
};

}  // namespace md
