// The frames of a trace, outermost first, and the stack of the innermost.
#pragma once
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "symbolic/state/symbolic_frame.h"

namespace md {

class FrameStack {
 public:
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
  void leave() { frames_.pop_back(); }
  void cut(size_t depth) { frames_.resize(depth); }
  // The caller that the region returns to, in the place of all frames.
  void replace(std::shared_ptr<SymbolicFrame> caller);
  const Bytecode& bytecode() const { return *innermost().bytecode; }
  void jump(int target);
  bool has_back_edge() const { return has_back_edge_; }  // through a back edge
  void set_back_edge(bool value) { has_back_edge_ = value; }
  // The innermost frame, a generator's, yields.
  void suspend(ValuePtr value);
  // A change of policy made by a function of ours acts on the user's frame that called it.
  void set_policy(const Policy* policy);
  size_t deepest() const { return deepest_; }  // frames at once
  // Of the other functions that the trace went through.
  const std::vector<const Bytecode*>& entered() const { return entered_; }
  void note_entered(const Bytecode* bytecode) { entered_.push_back(bytecode); }

  // --- the stack of the innermost
  const ValuePtr& null() const { return null_; }  // NULL on the stack, and an unset slot
  void push(ValuePtr value) { innermost().stack.push_back(std::move(value)); }
  void push_callable(ValuePtr callable);  // and NULL, as LOAD_METHOD does for what is no method
  ValuePtr pop();
  std::vector<ValuePtr> pop_many(int count);  // in stack order
  ValuePtr& peek(int distance = 1);           // 1 is the top
  // After a frame was inlined: the caller's instruction has consumed its operands.
  void drop_below_callee(int count);

  // As it was before the current instruction.
  const std::vector<ValuePtr>& stack_before() const { return stack_before_; }
  std::vector<ValuePtr> take_stack_before() { return std::exchange(stack_before_, {}); }
  void set_stack_before(std::vector<ValuePtr> stack) { stack_before_ = std::move(stack); }
  void note_stack() { stack_before_ = innermost().stack; }

  // Exceptions that are being handled, innermost last.
  std::vector<ValuePtr>& handled() { return handled_; }
  const std::vector<ValuePtr>& handled() const { return handled_; }

  // --- what is told of the frames
  bool may_nest() const { return root().policy->nested_graph_breaks; }
  // The depth of the first frame that was compiled with fullgraph inside a caller that was not; 0: none. Its error is its own
  // call's, so that the caller ends its region there and makes the call.
  size_t first_stricter() const;
  // The outermost of the innermost inlined frames that belong to this package; null if the innermost is the user's.
  const SymbolicFrame* first_of_ours() const;
  std::vector<SourceLine> user_stack() const;
  std::shared_ptr<const std::vector<SourceLine>> location() const;

 private:
  std::vector<std::shared_ptr<SymbolicFrame>> frames_;
  ValuePtr null_ = make_value<NullValue>();
  std::vector<ValuePtr> handled_, stack_before_;
  size_t deepest_ = 1;
  std::vector<const Bytecode*> entered_;
  bool has_back_edge_ = false;
};

}  // namespace md
