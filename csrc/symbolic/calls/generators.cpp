// Generators, and calls that a builtin waits for: frames that run to a result inside one instruction of their caller.
//  1. Nothing of that instruction is kept if it cannot be finished: the walk starts again and ends before it.
//  2. A generator is not rebuilt. Where one would have to be, the walk starts again and ends before the call that makes it.
#include <algorithm>

#include "base/config.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/polyfills.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/endings.h"
#include "symbolic/trace/registry.h"

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
  bool is_none = same_object(walk, generator->returned, walk.values().none());
  raise_known(walk, PyExc_StopIteration,
              is_none ? std::vector<ValuePtr>{} : std::vector<ValuePtr>{generator->returned});
}

ValuePtr call_send(Walk& walk, const CallArgs& args) {
  IteratorValue* generator = generator_of(args, 2);
  if (auto value = resume(walk, generator, args.positional[1])) return *value;
  end_of(walk, generator);
}

ValuePtr call_generator_next(Walk& walk, const CallArgs& args) {
  IteratorValue* generator = generator_of(args, 1);
  if (auto value = resume(walk, generator, walk.values().none())) return *value;
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
  if (auto yielded = throw_into(walk, generator, value)) return *yielded;
  end_of(walk, generator);
}

// GeneratorExit is raised where it is suspended, and comes out again unless it returns. One that yields is an error.
ValuePtr close_by_exception(Walk& walk, IteratorValue* generator) {
  ValuePtr exit = make_exception(walk, walk.values().constant(PyExc_GeneratorExit), {});
  std::optional<ValuePtr> yielded;
  try {
    yielded = throw_into(walk, generator, exit);
  } catch (const RaiseSignal& signal) {
    bool is_end = signal.exception && PyType_IsSubtype(type_of(signal.exception),
                                                       reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit)) != 0;
    if (!is_end) throw;
    return walk.values().none();
  }
  if (yielded) raise_here();
  return PY_VERSION_HEX >= 0x030D0000 ? generator->returned : walk.values().none();
}

ValuePtr call_close(Walk& walk, const CallArgs& args) {
  IteratorValue* generator = generator_of(args, 1);
  if (needs_closing(*generator)) return close_by_exception(walk, generator);
  generator->exhausted = true;
  return walk.values().none();
}

void return_generator(Walk& walk, const Instruction& at) {
  if (walk.frames().innermost().generator == nullptr) graph_break(BreakReason::async_construct, opcode_name(at.op));
  walk.frames().push(walk.values().none());
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
  if (!is_generator && !same_object(walk, sent, walk.values().none()))
    graph_break(BreakReason::generator_call, "send()");
  std::optional<ValuePtr> next = is_generator ? resume(walk, iterator, sent) : next_of(walk, iterator);
  ValuePtr result = next ? *next : is_generator ? iterator->returned : walk.values().none();
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

namespace {

void leave_held(Walk& walk, size_t depth, const RaiseSignal& signal) {
  // What waits may take a StopIteration for an end, or make another exception of it.
  bool is_awaited = walk.pending().awaits_stop(depth);
  bool goes_on = signal.exception &&
                 (is_awaited ||
                  !PyType_IsSubtype(type_of(signal.exception), reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)));
  if (!goes_on) walk.end_silently_before(walk.instruction_step());
  for (size_t at = depth; at < walk.frames().depth(); ++at) {
    if (IteratorValue* generator = walk.frames()[at].generator) {
      generator->exhausted = true;
      generator->running = false;
      if (walk.frames().handled().size() > walk.frames()[at].handled_below)
        walk.frames().handled().resize(walk.frames()[at].handled_below);
    }
  }
  walk.frames().cut(depth);
}

}  // namespace

void run_held(Walk& walk, size_t depth) {
  walk.pending().enter({depth, walk.frames().take_stack_before()});
  auto leave = [&] { walk.frames().set_stack_before(walk.pending().leave()); };
  while (walk.frames().depth() > depth) {
    SymbolicFrame& current = walk.frames().innermost();
    current.index = current.next;
    walk.frames().note_stack();
    try {
      if (ValuePtr thrown = walk.pending().take_thrown()) {
        // At the yield, not behind it.
        current.index = current.next - 1;
        raise_exception(walk, thrown);
      }
      walk.step();
    } catch (const BreakSignal& signal) {
      const BreakRow& row = break_row(signal.reason);
      GraphBreak found{signal.reason, signal.context, signal.explanation, walk.frames().user_stack(),
                       opcode_gloss(walk.frames().bytecode()[walk.frames().innermost().index].op)};
      if (!row.silent && walk.frames().innermost().generator == nullptr) {
        found.reason = BreakReason::held_by_c_caller;
        found.context = str_cat(row.title, signal.context.empty() ? "" : ": ", signal.context);
        found.explanation = "";
      }
      throw RestartSignal{walk.instruction_step(), found, walk.frames().innermost().policy,
                          walk.frames().innermost().generator != nullptr};
    } catch (const RaiseSignal& signal) {
      if (signal.exception && unwind(walk, signal.exception, depth)) continue;
      leave_held(walk, depth, signal);
      leave();
      throw;
    }
  }
  leave();
}

std::optional<ValuePtr> call_catching(Walk& walk, const ValuePtr& callable, CallArgs args, PyObject* exception) {
  // Popped whatever happens: a break ends the walk or starts it anew.
  struct Catch {
    std::vector<size_t>& depths;
    ~Catch() { depths.pop_back(); }
  };
  walk.pending().awaited().push_back(exception == PyExc_StopIteration ? walk.frames().depth() : SIZE_MAX);
  Catch until{walk.pending().awaited()};
  try {
    return call_now(walk, callable, std::move(args));
  } catch (const RaiseSignal& signal) {
    bool caught = signal.exception && is_object_of(walk, signal.exception, reinterpret_cast<PyTypeObject*>(exception));
    if (!caught) throw;
    return std::nullopt;
  }
}

ValuePtr call_now(Walk& walk, const ValuePtr& callable, CallArgs args) {
  size_t depth = walk.frames().depth();
  walk.pending().set_result(nullptr);
  call(walk, callable, std::move(args), ContinuationKind::Hold);
  if (walk.frames().depth() > depth && walk.frames()[depth].continuation != ContinuationKind::Hold) {
    walk.frames().cut(depth);
    graph_break(BreakReason::c_callback, describe(callable));
  }
  run_held(walk, depth);
  ValuePtr result = walk.pending().take_result();
  MD_ASSERT(result, "a call that was waited for has no result");
  return result;
}

ValuePtr make_generator(Walk& walk, std::shared_ptr<SymbolicFrame> body) {
  auto generator = make_value<IteratorValue>(IteratorKind::Generator, std::vector<ValuePtr>{});
  generator->type = type_of_generator(reinterpret_cast<PyObject*>(body->bytecode->code()));
  generator->frame = std::move(body);
  generator->creation_step = walk.step_number();
  walk.pending().add_generator(generator);
  return generator;
}

namespace {

std::optional<ValuePtr> run_generator(Walk& walk, IteratorValue* generator) {
  walk.cannot_undo();
  SymbolicFrame& body = *generator->frame;
  body.policy = walk.frames().innermost().policy;
  body.entry_step = walk.step_number();
  body.generator = generator;
  body.handled_below = walk.frames().handled().size();
  walk.frames().handled().insert(walk.frames().handled().end(), body.handled.begin(), body.handled.end());
  body.handled.clear();
  generator->running = true;
  size_t depth = walk.frames().depth();
  walk.frames().enter(generator->frame);
  run_held(walk, depth);
  generator->running = false;
  if (generator->exhausted) return std::nullopt;
  return std::exchange(generator->yielded, nullptr);
}

}  // namespace

std::optional<ValuePtr> resume(Walk& walk, IteratorValue* generator, const ValuePtr& sent) {
  ValuePtr keep(generator);
  if (generator->running) raise_here();
  if (generator->exhausted) {
    generator->returned = walk.values().none();
    return std::nullopt;
  }
  if (static_cast<int64_t>(walk.frames().depth()) > config().inline_depth_limit)
    graph_break(BreakReason::inline_depth, "generator");
  SymbolicFrame& body = *generator->frame;
  bool started = body.next > 0;
  if (!started && !same_object(walk, sent, walk.values().none())) raise_here();
  if (started) body.stack.push_back(sent);
  return run_generator(walk, generator);
}

std::optional<ValuePtr> throw_into(Walk& walk, IteratorValue* generator, const ValuePtr& exception) {
  ValuePtr keep(generator);
  if (generator->running) raise_here();
  SymbolicFrame& body = *generator->frame;
  bool suspended = !generator->exhausted && body.next > 0;
  if (!suspended) {
    generator->exhausted = true;
    raise_exception(walk, exception);
  }
  // Inside `yield from` it goes to the inner iterator first.
  const Instruction& resumes = (*body.bytecode)[body.next];
  if (resumes.op == Opcode::RESUME && resumes.arg >= 2) graph_break(BreakReason::generator_call, "throw()");
  walk.pending().set_thrown(exception);
  return run_generator(walk, generator);
}

bool needs_closing(const IteratorValue& generator) {
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
