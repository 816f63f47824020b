// The frames of a trace, outermost first, and the value stack of the innermost.
#pragma once
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "symbolic/state/symbolic_frame.h"

namespace md {

class FrameStack {
 public:
  FrameStack();
  ~FrameStack();

  // --- frames
  SymbolicFrame& innermost() { return *frames_.back(); }
  const SymbolicFrame& innermost() const { return *frames_.back(); }
  SymbolicFrame& root() { return *frames_.front(); }
  const SymbolicFrame& root() const { return *frames_.front(); }
  size_t depth() const { return frames_.size(); }
  SymbolicFrame& operator[](size_t at) { return *frames_[at]; }
  const SymbolicFrame& operator[](size_t at) const { return *frames_[at]; }
  auto begin() const { return frames_.begin(); }
  auto end() const { return frames_.end(); }
  void enter(std::shared_ptr<SymbolicFrame> frame);
  void leave();
  void cut(size_t depth);
  // Replaces all frames by the caller that the region returns to.
  void replace(std::shared_ptr<SymbolicFrame> caller);
  const Bytecode& bytecode() const { return *innermost().bytecode; }
  void jump(int target);
  bool has_back_edge() const { return has_back_edge_; }  // true if the trace took a back edge
  void set_back_edge(bool value) { has_back_edge_ = value; }
  // Yields `value` from the innermost frame, which belongs to a generator.
  void suspend(ValuePtr value);
  // A policy change made by one of the package's functions applies to the user frame that called it.
  void set_policy(const Policy* policy);
  size_t deepest() const { return deepest_; }  // the largest number of simultaneous frames
  // The other functions that the trace entered.
  const std::vector<const Bytecode*>& entered() const { return entered_; }
  void note_entered(const Bytecode* bytecode);

  // --- the value stack of the innermost frame
  const ValuePtr& null() const { return null_; }  // NULL on the stack, or an unset slot
  void push(ValuePtr value);
  void push_callable(ValuePtr callable);  // and NULL, as LOAD_METHOD does when the attribute is not a method
  ValuePtr pop();
  std::vector<ValuePtr> pop_many(int count);  // in stack order
  ValuePtr& peek(int distance = 1);           // 1 is the top
  // After a frame was inlined: pops the operands of the caller's instruction, below the callee's result.
  void drop_below_callee(int count);

  // The stack before the current instruction.
  const std::vector<ValuePtr>& stack_before() const { return stack_before_; }
  std::vector<ValuePtr> take_stack_before();
  void set_stack_before(std::vector<ValuePtr> stack);
  void note_stack();

  // Exceptions being handled, innermost last.
  std::vector<ValuePtr>& handled() { return handled_; }
  const std::vector<ValuePtr>& handled() const { return handled_; }

  // --- queries
  bool may_nest() const { return root().policy->nested_graph_breaks; }
  // The depth of the first fullgraph frame inlined into a caller without fullgraph; 0 if there is none. An error in it
  // belongs to its own call, so the caller's region ends there and the driver makes the call.
  size_t first_stricter() const;
  // The outermost of the innermost inlined frames that belong to this package; null if the innermost frame is the
  // user's.
  const SymbolicFrame* first_of_ours() const;
  std::vector<SourceLine> user_stack() const;
  std::shared_ptr<const std::vector<SourceLine>> location() const;

 private:
  std::vector<std::shared_ptr<SymbolicFrame>> frames_;
  ValuePtr null_;
  std::vector<ValuePtr> handled_, stack_before_;
  size_t deepest_ = 1;
  std::vector<const Bytecode*> entered_;
  bool has_back_edge_ = false;
};

}  // namespace md
