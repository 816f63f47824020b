#include "symbolic/state/frame_stack.h"

#include <algorithm>

#include "cpython/text.h"
#include "cpython/version_facts.h"

namespace md {

namespace {

std::string module_of(const SymbolicFrame& frame) {
  auto* function = as<ObjectValue>(frame.function);
  PyObject* module =
      function != nullptr ? reinterpret_cast<PyFunctionObject*>(function->object.get())->func_module : nullptr;
  return text_of(module);
}

// Returns true for a function of this package that changes a mode or passes a hint to the tracer on behalf of its
// caller, a user frame.
bool is_ours(const SymbolicFrame& frame) {
  static constexpr std::string_view kModules[] = {"minidynamo._dynamo.decorators", "minidynamo._tensor.grad_modes",
                                                  "minidynamo._families.torch_dynamo"};
  return std::ranges::find(kModules, module_of(frame)) != std::end(kModules);
}

// The decorators of the package's own functions come from functools.
bool is_functools(const SymbolicFrame& frame) { return module_of(frame) == "functools"; }

SourceLine line_of(const SymbolicFrame& frame) {
  PyCodeObject* code = frame.bytecode->code();
  return {text_of(code->co_filename), frame.bytecode->line_at(frame.index), text_of(code->co_name)};
}

}  // namespace

FrameStack::FrameStack() : null_(make_value<NullValue>()) {}
FrameStack::~FrameStack() = default;

void FrameStack::enter(std::shared_ptr<SymbolicFrame> frame) {
  frames_.push_back(std::move(frame));
  deepest_ = std::max(deepest_, frames_.size());
}

void FrameStack::leave() { frames_.pop_back(); }

void FrameStack::cut(size_t depth) { frames_.resize(depth); }

void FrameStack::note_entered(const Bytecode* bytecode) { entered_.push_back(bytecode); }

void FrameStack::push(ValuePtr value) { innermost().stack.push_back(std::move(value)); }

std::vector<ValuePtr> FrameStack::take_stack_before() { return std::exchange(stack_before_, {}); }

void FrameStack::set_stack_before(std::vector<ValuePtr> stack) { stack_before_ = std::move(stack); }

void FrameStack::note_stack() { stack_before_ = innermost().stack; }

void FrameStack::replace(std::shared_ptr<SymbolicFrame> caller) {
  frames_.clear();
  frames_.push_back(std::move(caller));
}

void FrameStack::jump(int target) {
  has_back_edge_ = has_back_edge_ || target <= innermost().index;
  innermost().next = target;
}

ValuePtr FrameStack::pop() {
  MD_ASSERT(!innermost().stack.empty(), "symbolic stack underflow");
  ValuePtr value = std::move(innermost().stack.back());
  innermost().stack.pop_back();
  return value;
}

std::vector<ValuePtr> FrameStack::pop_many(int count) {
  std::vector<ValuePtr>& stack = innermost().stack;
  MD_ASSERT(static_cast<int>(stack.size()) >= count, "symbolic stack underflow");
  std::vector<ValuePtr> values(std::make_move_iterator(stack.end() - count), std::make_move_iterator(stack.end()));
  stack.erase(stack.end() - count, stack.end());
  return values;
}

ValuePtr& FrameStack::peek(int distance) {
  std::vector<ValuePtr>& stack = innermost().stack;
  MD_ASSERT(static_cast<int>(stack.size()) >= distance, "symbolic stack underflow");
  return stack[stack.size() - distance];
}

void FrameStack::drop_below_callee(int count) {
  std::vector<ValuePtr>& stack = frames_[frames_.size() - 2]->stack;
  stack.resize(stack.size() - count);
}

void FrameStack::push_callable(ValuePtr callable) {
  if (kNullAfterCallable) {
    push(std::move(callable));
    push(null_);
  } else {
    push(null_);
    push(std::move(callable));
  }
}

void FrameStack::suspend(ValuePtr value) {
  IteratorValue* generator = innermost().generator;
  generator->yielded = std::move(value);
  auto own = handled_.begin() + static_cast<std::ptrdiff_t>(innermost().handled_below);
  innermost().handled.assign(own, handled_.end());
  handled_.erase(own, handled_.end());
  frames_.pop_back();
}

void FrameStack::set_policy(const Policy* policy) {
  for (auto at = frames_.rbegin(); at != frames_.rend(); ++at) {
    (*at)->policy = policy;
    // The package's own __enter__ and __exit__ frames come between; the policy applies to the first frame of another
    // module.
    if (!is_ours(**at)) return;
  }
}

size_t FrameStack::first_stricter() const {
  if (frames_.front()->policy->fullgraph) return 0;
  for (size_t depth = 1; depth < frames_.size(); ++depth)
    if (frames_[depth]->policy->fullgraph) return depth;
  return 0;
}

const SymbolicFrame* FrameStack::first_of_ours() const {
  const SymbolicFrame* first = nullptr;
  for (size_t depth = frames_.size() - 1; depth > 0; --depth) {
    if (is_ours(*frames_[depth])) {
      first = frames_[depth].get();
    } else if (first != nullptr || !is_functools(*frames_[depth])) {
      break;
    }
  }
  return first;
}

std::vector<SourceLine> FrameStack::user_stack() const {
  std::vector<SourceLine> stack;
  for (const auto& frame : frames_) stack.push_back(line_of(*frame));
  return stack;
}

std::shared_ptr<const std::vector<SourceLine>> FrameStack::location() const {
  return std::make_shared<const std::vector<SourceLine>>(user_stack());
}

}  // namespace md
