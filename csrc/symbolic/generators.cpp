// Generators, and calls that a builtin waits for: frames that run to a result inside one instruction of their caller.
//  1. Nothing of that instruction is kept if it cannot be finished: the walk starts again and ends before it.
//  2. A generator is not rebuilt. Where one would have to be, the walk starts again and ends before the call that makes it.
#include <algorithm>

#include "base/config.h"
#include "symbolic/attributes.h"
#include "symbolic/calls.h"
#include "symbolic/class_relations.h"
#include "symbolic/endings.h"
#include "symbolic/exceptions.h"
#include "symbolic/iterators.h"
#include "symbolic/outcomes.h"
#include "symbolic/polyfills.h"
#include "symbolic/registry.h"
#include "symbolic/value_facts.h"

namespace md {

namespace {

// Closing a suspended generator runs handlers of its code: try, with, and the like.
// From 3.12 on every generator turns a StopIteration that leaves it into a RuntimeError; that is no handler of the program's.
bool is_handler(const Bytecode& bytecode, const ExceptionHandler& handler) {
  if (handler.target < 0) return false;
  Opcode op = bytecode[handler.target].op;
  return op != Opcode::STOPITERATION_ERROR && op != Opcode::CALL_INTRINSIC;
}

IteratorValue* generator_of(const CallArgs& args, size_t count) {
  auto* iterator = args.positional.empty() ? nullptr : as<IteratorValue>(args.positional[0]);
  if (iterator == nullptr || iterator->iterator_kind != IteratorKind::Generator)
    graph_break(BreakReason::foreign_next, args.positional.empty() ? "" : describe(args.positional[0]));
  if (args.positional.size() != count || !args.keywords.empty()) raise_here();
  return iterator;
}

// What a generator that has returned raises.
[[noreturn]] void end_of(Walk& walk, const IteratorValue* generator) {
  bool is_none = same_object(walk, generator->returned, walk.none());
  raise_known(walk, PyExc_StopIteration,
              is_none ? std::vector<ValuePtr>{} : std::vector<ValuePtr>{generator->returned});
}

ValuePtr call_send(Walk& walk, const CallArgs& args) {
  IteratorValue* generator = generator_of(args, 2);
  if (auto value = walk.resume(generator, args.positional[1])) return *value;
  end_of(walk, generator);
}

ValuePtr call_generator_next(Walk& walk, const CallArgs& args) {
  IteratorValue* generator = generator_of(args, 1);
  if (auto value = walk.resume(generator, walk.none())) return *value;
  end_of(walk, generator);
}

// throw(value), or throw(type, value, traceback).
ValuePtr call_throw(Walk& walk, const CallArgs& args) {
  bool has_type = args.positional.size() == 4;
  IteratorValue* generator = generator_of(args, has_type ? 4 : 2);
  const ValuePtr& value = args.positional[has_type ? 2 : 1];
  if (exception_of(value) == nullptr) graph_break(BreakReason::generator_call, "throw()");
  if (has_type && type_value(walk, value) != args.positional[1])
    graph_break(BreakReason::generator_call, "throw() of another class");
  if (auto yielded = walk.throw_into(generator, value)) return *yielded;
  end_of(walk, generator);
}

// GeneratorExit is raised where it is suspended, and comes out again unless it returns. One that yields is an error.
ValuePtr close_by_exception(Walk& walk, IteratorValue* generator) {
  ValuePtr exit = make_exception(walk, walk.constant(PyExc_GeneratorExit), {});
  std::optional<ValuePtr> yielded;
  try {
    yielded = walk.throw_into(generator, exit);
  } catch (const RaiseSignal& signal) {
    bool is_end = signal.exception && PyType_IsSubtype(type_of(signal.exception),
                                                       reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit)) != 0;
    if (!is_end) throw;
    return walk.none();
  }
  if (yielded) raise_here();
  return PY_VERSION_HEX >= 0x030D0000 ? generator->returned : walk.none();
}

ValuePtr call_close(Walk& walk, const CallArgs& args) {
  IteratorValue* generator = generator_of(args, 1);
  if (walk.needs_closing(*generator)) return close_by_exception(walk, generator);
  generator->exhausted = true;
  return walk.none();
}

void return_generator(Walk& walk, const Instruction& at) {
  if (walk.frames().innermost().generator == nullptr) graph_break(BreakReason::async_construct, opcode_name(at.op));
  walk.frames().push(walk.none());
}

void yield_value(Walk& walk, const Instruction& at) {
  if (walk.frames().innermost().generator == nullptr) graph_break(BreakReason::async_construct, opcode_name(at.op));
  walk.frames().suspend(walk.frames().pop());
}

void get_yield_from_iter(Walk& walk, const Instruction& at) {
  if (walk.frames().innermost().generator == nullptr) graph_break(BreakReason::async_construct, opcode_name(at.op));
  ValuePtr iterator = iterator_over(walk, walk.frames().peek());
  if (!iterator) graph_break(BreakReason::unknown_iteration, describe(walk.frames().peek()));
  walk.frames().pop();
  walk.frames().push(std::move(iterator));
}

void send(Walk& walk, const Instruction& at) {
  ValuePtr sent = walk.frames().peek(1);
  auto* iterator = as<IteratorValue>(walk.frames().peek(2));
  if (iterator == nullptr || walk.frames().innermost().generator == nullptr)
    graph_break(BreakReason::async_construct, opcode_name(at.op));
  bool is_generator = iterator->iterator_kind == IteratorKind::Generator;
  // Another iterator takes a value through its own send.
  if (!is_generator && !same_object(walk, sent, walk.none())) graph_break(BreakReason::generator_call, "send()");
  std::optional<ValuePtr> next = is_generator ? walk.resume(iterator, sent) : walk.next_of(iterator);
  ValuePtr result = next ? *next : is_generator ? iterator->returned : walk.none();
  walk.frames().pop();
  if (!next && PY_VERSION_HEX < 0x030C0000) walk.frames().pop();
  walk.frames().push(std::move(result));
  if (!next) walk.frames().jump(at.arg);
}

void end_send(Walk& walk, const Instruction&) {
  ValuePtr value = walk.frames().pop();
  walk.frames().pop();
  walk.frames().push(std::move(value));
}

const OpcodeRegistration registration{{Opcode::RETURN_GENERATOR, return_generator},
                                      {Opcode::YIELD_VALUE, yield_value},
                                      {Opcode::GET_YIELD_FROM_ITER, get_yield_from_iter},
                                      {Opcode::SEND, send},
                                      {Opcode::END_SEND, end_send}};

}  // namespace

bool has_handlers(const Bytecode& bytecode) {
  return std::ranges::any_of(bytecode.handlers(),
                             [&](const HandlerRange& range) { return is_handler(bytecode, range.handler); });
}

bool catches(const Bytecode& bytecode, int index) { return is_handler(bytecode, bytecode.handler_at(index)); }

void Walk::run_held(size_t depth) {
  held_.push_back({depth, std::move(stack_before_)});
  auto leave = [&] {
    stack_before_ = std::move(held_.back().stack);
    held_.pop_back();
  };
  while (frames_.depth() > depth) {
    SymbolicFrame& current = frames_.innermost();
    current.index = current.next;
    stack_before_ = current.stack;
    try {
      if (thrown_) {
        // At the yield, not behind it.
        current.index = current.next - 1;
        raise_exception(*this, std::exchange(thrown_, nullptr));
      }
      step();
    } catch (const BreakSignal& signal) {
      const BreakRow& row = break_row(signal.reason);
      GraphBreak found{signal.reason, signal.context, signal.explanation, frames_.user_stack(),
                       opcode_gloss(frames_.bytecode()[frames_.innermost().index].op)};
      if (!row.silent && frames_.innermost().generator == nullptr) {
        found.reason = BreakReason::held_by_c_caller;
        found.context = str_cat(row.title, signal.context.empty() ? "" : ": ", signal.context);
        found.explanation = "";
      }
      throw RestartSignal{instruction_step_, found, frames_.innermost().policy,
                          frames_.innermost().generator != nullptr};
    } catch (const RaiseSignal& signal) {
      if (signal.exception && unwind(signal.exception, depth)) continue;
      leave_held(depth, signal);
      leave();
      throw;
    }
  }
  leave();
}

void Walk::leave_held(size_t depth, const RaiseSignal& signal) {
  // What waits may take a StopIteration for an end, or make another exception of it.
  bool is_awaited = !catches_.empty() && catches_.back() == depth;
  bool goes_on = signal.exception &&
                 (is_awaited ||
                  !PyType_IsSubtype(type_of(signal.exception), reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)));
  if (!goes_on) end_silently_before(instruction_step_);
  for (size_t at = depth; at < frames_.depth(); ++at) {
    if (IteratorValue* generator = frames_[at].generator) {
      generator->exhausted = true;
      generator->running = false;
      if (frames_.handled().size() > frames_[at].handled_below) frames_.handled().resize(frames_[at].handled_below);
    }
  }
  frames_.cut(depth);
}

std::optional<ValuePtr> Walk::call_catching(const ValuePtr& callable, CallArgs args, PyObject* exception) {
  // Popped whatever happens: a break ends the walk or starts it anew.
  struct Catch {
    std::vector<size_t>& depths;
    ~Catch() { depths.pop_back(); }
  };
  catches_.push_back(exception == PyExc_StopIteration ? frames_.depth() : SIZE_MAX);
  Catch until{catches_};
  try {
    return call_now(callable, std::move(args));
  } catch (const RaiseSignal& signal) {
    bool caught = signal.exception && is_object_of(*this, signal.exception, reinterpret_cast<PyTypeObject*>(exception));
    if (!caught) throw;
    return std::nullopt;
  }
}

ValuePtr Walk::call_now(const ValuePtr& callable, CallArgs args) {
  size_t depth = frames_.depth();
  held_result_ = nullptr;
  call(*this, callable, std::move(args), ContinuationKind::Hold);
  if (frames_.depth() > depth && frames_[depth].continuation != ContinuationKind::Hold) {
    frames_.cut(depth);
    graph_break(BreakReason::c_callback, describe(callable));
  }
  run_held(depth);
  MD_ASSERT(held_result_, "a call that was waited for has no result");
  return std::exchange(held_result_, nullptr);
}

ValuePtr Walk::make_generator(std::shared_ptr<SymbolicFrame> body) {
  auto generator = make_value<IteratorValue>(IteratorKind::Generator, std::vector<ValuePtr>{});
  generator->type = type_of_generator(reinterpret_cast<PyObject*>(body->bytecode->code()));
  generator->frame = std::move(body);
  generator->creation_step = steps_;
  generators_.push_back(generator);
  return generator;
}

std::optional<ValuePtr> Walk::resume(IteratorValue* generator, const ValuePtr& sent) {
  ValuePtr keep(generator);
  if (generator->running) raise_here();
  if (generator->exhausted) {
    generator->returned = none();
    return std::nullopt;
  }
  if (static_cast<int64_t>(frames_.depth()) > config().inline_depth_limit)
    graph_break(BreakReason::inline_depth, "generator");
  SymbolicFrame& body = *generator->frame;
  bool started = body.next > 0;
  if (!started && !same_object(*this, sent, none())) raise_here();
  if (started) body.stack.push_back(sent);
  return run_generator(generator);
}

std::optional<ValuePtr> Walk::run_generator(IteratorValue* generator) {
  advanced_ = true;
  SymbolicFrame& body = *generator->frame;
  body.policy = frames_.innermost().policy;
  body.entry_step = steps_;
  body.generator = generator;
  body.handled_below = frames_.handled().size();
  frames_.handled().insert(frames_.handled().end(), body.handled.begin(), body.handled.end());
  body.handled.clear();
  generator->running = true;
  size_t depth = frames_.depth();
  frames_.enter(generator->frame);
  run_held(depth);
  generator->running = false;
  if (generator->exhausted) return std::nullopt;
  return std::exchange(generator->yielded, nullptr);
}

std::optional<ValuePtr> Walk::throw_into(IteratorValue* generator, const ValuePtr& exception) {
  ValuePtr keep(generator);
  if (generator->running) raise_here();
  SymbolicFrame& body = *generator->frame;
  bool suspended = !generator->exhausted && body.next > 0;
  if (!suspended) {
    generator->exhausted = true;
    raise_exception(*this, exception);
  }
  // Inside `yield from` it goes to the inner iterator first.
  const Instruction& resumes = (*body.bytecode)[body.next];
  if (resumes.op == Opcode::RESUME && resumes.arg >= 2) graph_break(BreakReason::generator_call, "throw()");
  thrown_ = exception;
  return run_generator(generator);
}
bool Walk::needs_closing(const IteratorValue& generator) const {
  // What a generator stands for has no frame of its own to be closed.
  return generator.type == &PyGen_Type && !generator.exhausted && generator.frame->next > 0 &&
         has_handlers(*generator.frame->bytecode);
}

namespace {

void add_generator_methods() {
  const std::pair<const char*, CallHandler> rows[] = {
      {"send", call_send}, {"throw", call_throw}, {"__next__", call_generator_next}, {"close", call_close}};
  for (const auto& [name, handler] : rows)
    register_call(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyGen_Type), name)).get(), handler);
}

const CallRegistration call_registration(add_generator_methods);

}  // namespace

}  // namespace md
