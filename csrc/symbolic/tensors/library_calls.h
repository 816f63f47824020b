// Calls of a library's own functions over its own tensors, as steps of a graph (TensorCallableKind::HostCall).
//   1. A repeatable one has no effects but its results: it is a step like others, without frames. Where it raises or
//      warns, or returns something else than the trace has seen, the run fails, and Python runs the region again from
//      its start.
//   2. One that draws numbers from a generator whose state can be had and set is repeatable, too: that state is
//      restored before the region runs again (LibraryDraws).
//   3. One with another state of its own is a host call (host_calls.h): made once, at its place, in the
//      user's frames.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cpython/ref.h"
#include "graph/graph.h"
#include "guards/tensor_family.h"
#include "tensor/tensor.h"

namespace md {

// A result as the trace has seen it: an object of exactly this type.
struct LibraryResult {
  TensorSpec spec;
  PyTypeObject* type;
};

// An argument: an operand, a sequence that contains some, or an object.
struct LibraryArgument {
  int operand = -1;
  const TensorFamily* family = nullptr;  // of the operand
  Ref object = {};
  bool is_list = false;
  std::vector<LibraryArgument> items = {};
};

struct LibraryCall {
  const TensorFamily& family;
  std::string name;
  Ref function;
  std::vector<LibraryArgument> arguments = {};  // positional ones, then those of keyword_names
  Ref keyword_names = {};                       // a tuple; null: none
  bool repeatable = true;
  Ref generator = {};             // of a repeatable one that draws from it: get_state() and set_state(); else null
  bool returns_sequence = false;  // else one result, or None if there are none
  std::vector<LibraryResult> results = {};

  // Calls it, `self` first if there is one. Null: an exception is set. Leaves no flags of floating-point exceptions.
  Ref call(std::span<const Tensor> operands, BorrowedRef self) const;
  // What differs from the results that the trace has seen; else they are in `outs`.
  std::string take(BorrowedRef result, std::span<Tensor> outs) const;
};

// A name without dots.
std::string name_in_graph(const LibraryCall& call);
// The specs of the node's results: at least one, a number without a meaning where the function returns None.
std::vector<TensorSpec> result_specs(const LibraryCall& call);
// A row for a repeatable call with as many tensors as operands.
std::shared_ptr<const OpRow> repeatable_row(std::shared_ptr<const LibraryCall> call, size_t operands);

// While it lives, a repeatable call that raises only fails its plan: who runs it runs Python in its place. Else the
// exception stays.
class RepeatableRun {
 public:
  explicit RepeatableRun(bool may_repeat);
  ~RepeatableRun();
  RepeatableRun(const RepeatableRun&) = delete;
  RepeatableRun& operator=(const RepeatableRun&) = delete;

 private:
  bool before_;
};

// While it lives, what repeatable calls draw on this thread can be rolled back. May be nested.
class LibraryDraws {
 public:
  LibraryDraws();
  ~LibraryDraws();
  // The numbers are drawn again by who draws next, also where another thread has drawn from the generator since.
  void roll_back();
  // Of the call that is made next.
  static void note(const LibraryCall& call);
  LibraryDraws(const LibraryDraws&) = delete;
  LibraryDraws& operator=(const LibraryDraws&) = delete;

 private:
  bool has(BorrowedRef generator) const;

  LibraryDraws* outer_;
  std::vector<std::pair<Ref, Ref>> before_;  // generators, and their states before the first draw
};

}  // namespace md
