// Generators, and pending calls of builtins: frames that run to a result inside one instruction of their caller.
//   1. If that instruction cannot be finished, nothing of it is kept: the trace restarts and ends before it.
//   2. A generator that has started is not rebuilt. Where that would be necessary, the trace restarts and ends before
//      the call that creates it. One that has not is created by the same call.
#include <algorithm>
#include <array>

#include "base/config.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/polyfills.h"
#include "symbolic/effects/finalizers.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/endings.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

// Closing a suspended generator runs handlers of its code: try, with, and the like. From 3.12 on every generator turns
// a StopIteration that leaves it into a RuntimeError; that handler is not the program's.
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

// Raises the StopIteration of a generator that has returned.
[[noreturn]] void end_of(Tracer& tracer, const IteratorValue* generator) {
  bool is_none = same_object(tracer, generator->returned, tracer.values().none());
  raise_known(tracer, PyExc_StopIteration,
              is_none ? std::vector<ValuePtr>{} : std::vector<ValuePtr>{generator->returned});
}

ValuePtr call_send(Tracer& tracer, const CallArgs& args) {
  IteratorValue* generator = generator_of(args, 2);
  if (auto value = resume(tracer, generator, args.positional[1])) return *value;
  end_of(tracer, generator);
}

ValuePtr call_generator_next(Tracer& tracer, const CallArgs& args) {
  IteratorValue* generator = generator_of(args, 1);
  if (auto value = resume(tracer, generator, tracer.values().none())) return *value;
  end_of(tracer, generator);
}

// throw(value), or throw(type, value, traceback).
ValuePtr call_throw(Tracer& tracer, const CallArgs& args) {
  bool has_type = args.positional.size() == 4;
  IteratorValue* generator = generator_of(args, has_type ? 4 : 2);
  ValuePtr value = args.positional[has_type ? 2 : 1];
  if (!has_type)
    if (ValuePtr made = exception_to_raise(tracer, value)) value = made;
  if (exception_of(value) == nullptr) graph_break(BreakReason::generator_call, "throw()");
  if (has_type && type_value(tracer, value) != args.positional[1])
    graph_break(BreakReason::generator_call, "throw() of another class");
  if (auto yielded = throw_into(tracer, generator, value)) return *yielded;
  end_of(tracer, generator);
}

// Raises GeneratorExit where the generator is suspended; the generator has to return or let it propagate. A yield is an
// error.
ValuePtr close_by_exception(Tracer& tracer, IteratorValue* generator) {
  ValuePtr exit = make_exception(tracer, tracer.values().constant(PyExc_GeneratorExit), {});
  std::optional<ValuePtr> yielded;
  try {
    yielded = throw_into(tracer, generator, exit);
  } catch (const RaiseSignal& signal) {
    bool is_end = signal.exception && PyType_IsSubtype(type_of(signal.exception),
                                                       reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit)) != 0;
    if (!is_end) throw;
    return tracer.values().none();
  }
  if (yielded) raise_here();
  return PY_VERSION_HEX >= 0x030D0000 ? generator->returned : tracer.values().none();
}

ValuePtr call_close(Tracer& tracer, const CallArgs& args) {
  IteratorValue* generator = generator_of(args, 1);
  if (needs_closing(*generator)) return close_by_exception(tracer, generator);
  generator->exhausted = true;
  return tracer.values().none();
}

void return_generator(Tracer& tracer, const Instruction& at) {
  if (tracer.frames().innermost().generator == nullptr) graph_break(BreakReason::async_construct, opcode_name(at.op));
  tracer.frames().push(tracer.values().none());
}

void yield_value(Tracer& tracer, const Instruction& at) {
  if (tracer.frames().innermost().generator == nullptr) graph_break(BreakReason::async_construct, opcode_name(at.op));
  tracer.frames().suspend(tracer.frames().pop());
}

void get_yield_from_iter(Tracer& tracer, const Instruction& at) {
  if (tracer.frames().innermost().generator == nullptr) graph_break(BreakReason::async_construct, opcode_name(at.op));
  ValuePtr iterator = any_iterator_over(tracer, tracer.frames().peek());
  if (!iterator) graph_break(BreakReason::unknown_iteration, describe(tracer.frames().peek()));
  tracer.frames().pop();
  tracer.frames().push(std::move(iterator));
}

void send(Tracer& tracer, const Instruction& at) {
  ValuePtr sent = tracer.frames().peek(1);
  auto* iterator = as<IteratorValue>(tracer.frames().peek(2));
  if (iterator == nullptr || tracer.frames().innermost().generator == nullptr)
    graph_break(BreakReason::async_construct, opcode_name(at.op));
  bool is_generator = iterator->iterator_kind == IteratorKind::Generator;
  // Iterators other than generators take a value through their own send.
  if (!is_generator && !same_object(tracer, sent, tracer.values().none()))
    graph_break(BreakReason::generator_call, "send()");
  std::optional<ValuePtr> next = is_generator ? resume(tracer, iterator, sent) : next_of(tracer, iterator);
  ValuePtr result = next ? *next : iterator->returned ? iterator->returned : tracer.values().none();
  tracer.frames().pop();
  if (!next && PY_VERSION_HEX < 0x030C0000) tracer.frames().pop();
  tracer.frames().push(std::move(result));
  if (!next) tracer.frames().jump(at.arg);
}

void end_send(Tracer& tracer, const Instruction&) {
  ValuePtr value = tracer.frames().pop();
  tracer.frames().pop();
  tracer.frames().push(std::move(value));
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

void leave_pending(Tracer& tracer, size_t depth, const RaiseSignal& signal) {
  // The pending call may take a StopIteration as the end, or turn it into another exception.
  bool is_awaited = tracer.pending().awaits_stop(depth);
  bool goes_on = signal.exception &&
                 (is_awaited ||
                  !PyType_IsSubtype(type_of(signal.exception), reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)));
  if (!goes_on) tracer.end_silently_before(signal);
  for (size_t at = depth; at < tracer.frames().depth(); ++at) {
    if (IteratorValue* generator = tracer.frames()[at].generator) {
      generator->exhausted = true;
      generator->running = false;
      if (tracer.frames().handled().size() > tracer.frames()[at].handled_below)
        tracer.frames().handled().resize(tracer.frames()[at].handled_below);
    }
  }
  tracer.frames().cut(depth);
}

}  // namespace

void run_pending(Tracer& tracer, size_t depth) {
  tracer.pending().enter({depth, tracer.frames().take_stack_before()});
  auto leave = [&] { tracer.frames().set_stack_before(tracer.pending().leave()); };
  while (tracer.frames().depth() > depth) {
    SymbolicFrame& current = tracer.frames().innermost();
    current.index = current.next;
    tracer.frames().note_stack();
    try {
      if (ValuePtr thrown = tracer.pending().take_thrown()) {
        // The exception is raised at the yield, not after it.
        current.index = current.next - 1;
        raise_exception(tracer, thrown);
      }
      tracer.step();
    } catch (const BreakSignal& signal) {
      const BreakRow& row = break_row(signal.reason);
      GraphBreak found{signal.reason, signal.context, signal.explanation, tracer.frames().user_stack(),
                       opcode_gloss(tracer.frames().bytecode()[tracer.frames().innermost().index].op)};
      bool is_callers = tracer.frames().innermost().generator != nullptr || tracer.pending().stands_in();
      if (!row.is_silent() && !is_callers) {
        found.reason = BreakReason::held_by_c_caller;
        found.context = str_cat(row.title, signal.context.empty() ? "" : ": ", signal.context);
        found.explanation = "";
      }
      tracer.end_before_instruction(std::move(found), tracer.frames().innermost().generator != nullptr);
    } catch (const RaiseSignal& signal) {
      if (signal.exception && unwind(tracer, signal.exception, depth)) continue;
      leave_pending(tracer, depth, signal);
      leave();
      throw;
    }
  }
  leave();
}

std::optional<ValuePtr> call_catching(Tracer& tracer, const ValuePtr& callable, CallArgs args, PyObject* exception,
                                      ValuePtr* caught) {
  // Popped on every exit: a break ends or restarts the trace.
  struct Catch {
    std::vector<PendingCalls::Awaited>& calls;
    ~Catch() { calls.pop_back(); }
  };
  tracer.pending().awaited().push_back(
      {exception == PyExc_StopIteration ? tracer.frames().depth() : SIZE_MAX, exception != PyExc_BaseException});
  Catch until{tracer.pending().awaited()};
  try {
    return call_now(tracer, callable, std::move(args));
  } catch (const RaiseSignal& signal) {
    bool is_caught =
        signal.exception && is_object_of(tracer, signal.exception, reinterpret_cast<PyTypeObject*>(exception));
    if (!is_caught) throw;
    if (caught != nullptr) *caught = signal.exception;
    return std::nullopt;
  }
}

ValuePtr call_now(Tracer& tracer, const ValuePtr& callable, CallArgs args) {
  size_t depth = tracer.frames().depth();
  tracer.pending().set_result(nullptr);
  call(tracer, callable, std::move(args), ContinuationKind::Hold);
  if (tracer.frames().depth() > depth && tracer.frames()[depth].continuation != ContinuationKind::Hold) {
    tracer.frames().cut(depth);
    graph_break(BreakReason::c_callback, describe(callable));
  }
  run_pending(tracer, depth);
  ValuePtr result = tracer.pending().take_result();
  MD_ASSERT(result, "a pending call without a result");
  return result;
}

ValuePtr make_generator(Tracer& tracer, const ValuePtr& function, const CallArgs& args,
                        std::shared_ptr<SymbolicFrame> body) {
  std::vector<ValuePtr> call{function};
  call.insert(call.end(), args.positional.begin(), args.positional.end());
  for (const auto& [name, value] : args.keywords) call.push_back(value);
  auto generator = make_value<IteratorValue>(IteratorKind::Generator, std::move(call));
  generator->keywords = args.keyword_names();
  generator->type = type_of_generator(reinterpret_cast<PyObject*>(body->bytecode->code()));
  generator->frame = std::move(body);
  generator->creation_step = tracer.step_number();
  tracer.pending().add_generator(generator);
  return generator;
}

namespace {

std::optional<ValuePtr> run_generator(Tracer& tracer, IteratorValue* generator) {
  tracer.cannot_undo();
  SymbolicFrame& body = *generator->frame;
  body.policy = tracer.frames().innermost().policy;
  body.entry_step = tracer.step_number();
  body.generator = generator;
  body.handled_below = tracer.frames().handled().size();
  tracer.frames().handled().insert(tracer.frames().handled().end(), body.handled.begin(), body.handled.end());
  body.handled.clear();
  generator->running = true;
  size_t depth = tracer.frames().depth();
  tracer.frames().enter(generator->frame);
  run_pending(tracer, depth);
  generator->running = false;
  if (generator->exhausted) return std::nullopt;
  return std::exchange(generator->yielded, nullptr);
}

}  // namespace

std::optional<ValuePtr> resume(Tracer& tracer, IteratorValue* generator, const ValuePtr& sent) {
  ValuePtr keep(generator);
  if (generator->running) raise_here();
  if (generator->exhausted) {
    generator->returned = tracer.values().none();
    return std::nullopt;
  }
  if (static_cast<int64_t>(tracer.frames().depth()) > config().inline_depth_limit)
    graph_break(BreakReason::inline_depth, "generator");
  SymbolicFrame& body = *generator->frame;
  bool started = body.next > 0;
  if (!started && !same_object(tracer, sent, tracer.values().none())) raise_here();
  if (started) body.stack.push_back(sent);
  return run_generator(tracer, generator);
}

std::optional<ValuePtr> throw_into(Tracer& tracer, IteratorValue* generator, const ValuePtr& exception) {
  ValuePtr keep(generator);
  if (generator->running) raise_here();
  SymbolicFrame& body = *generator->frame;
  bool suspended = !generator->exhausted && body.next > 0;
  if (!suspended) {
    generator->exhausted = true;
    raise_exception(tracer, exception);
  }
  // Inside `yield from` the exception goes to the inner iterator first.
  const Instruction& resumes = (*body.bytecode)[body.next];
  if (resumes.op == Opcode::RESUME && resumes.arg >= 2) graph_break(BreakReason::generator_call, "throw()");
  tracer.pending().set_thrown(exception);
  return run_generator(tracer, generator);
}

bool needs_closing(const IteratorValue& generator) {
  // An iterator that a polyfill's generator replaces has no frame to close.
  return generator.type == &PyGen_Type && !generator.exhausted && generator.frame->next > 0 &&
         has_handlers(*generator.frame->bytecode);
}

namespace {

bool is_over_iterators(const IteratorValue& iterator) {
  return iterator.iterator_kind == IteratorKind::Enumerate || iterator.iterator_kind == IteratorKind::Zip ||
         iterator.iterator_kind == IteratorKind::Map || iterator.iterator_kind == IteratorKind::Filter;
}

}  // namespace

void close_if_dropped(Tracer& tracer, const ValuePtr& value, uint32_t held) {
  auto* generator = as<IteratorValue>(value);
  if (generator == nullptr || generator->running) return;
  if (is_over_iterators(*generator)) {
    // zip() that ends by one of its iterators drops the others with itself.
    if (value.count() != held) return;
    for (const ValuePtr& part : generator->bases) close_if_dropped(tracer, part);
    return;
  }
  if (generator->iterator_kind != IteratorKind::Generator) return;
  // The list of all generators holds it too. With any other reference it lives on, as far as the trace knows.
  if (!needs_closing(*generator) || value.count() != held + 1) return;
  // The slot may be overwritten meanwhile.
  const std::array<ValuePtr, 1> kept{value};
  try {
    close_by_exception(tracer, generator);
  } catch (const RaiseSignal&) {
    // Python reports it to sys.unraisablehook.
    graph_break(BreakReason::generator_call, "a dropped generator that does not end quietly");
  }
}

void close_dropped_locals(Tracer& tracer) {
  if (tracer.pending().generators().empty()) return;
  const std::vector<ValuePtr>& slots = tracer.frames().innermost().slots;
  bool is_root = tracer.frames().depth() == 1;
  for (const ValuePtr& slot : slots) {
    // What dies before, and is seen to, dies at the exit only.
    if (is_root && death_is_observable(tracer, slot)) return;
    close_if_dropped(tracer, slot);
  }
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
