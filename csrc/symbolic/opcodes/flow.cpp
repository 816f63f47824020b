// Jumps, loops, return, with and exceptions.
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/opcodes/asserted.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/trace/loops.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

[[noreturn]] void break_on_truth(Tracer& tracer, const ValuePtr& value) {
  auto* tensor = as<TensorValue>(value);
  if (tensor == nullptr) graph_break(BreakReason::unknown_truth, describe(value));
  tracer.values().guard_tensor(tensor);
  // With any other number of elements the truth is an error.
  if (!known_equal(tensor->spec.numel(), 1)) raise_here();
  graph_break(BreakReason::data_dependent_branch, str_cat("truth of a tensor ", tensor->spec.str()));
}

// The truth of the top value; nullopt if a user's __bool__ was inlined with the continuation.
std::optional<bool> truth_or_inline(Tracer& tracer, ContinuationKind continuation) {
  ValuePtr value = tracer.frames().peek();
  if (std::optional<bool> truth = truth_of(tracer, value)) return truth;
  if (value->kind == ValueKind::Object || value->kind == ValueKind::Instance) {
    static PyObject* const kBool = PyUnicode_InternFromString("__bool__");
    ValuePtr method = type_attribute(tracer, value, kBool);
    if (method && is_python_function(method)) {
      tracer.frames().pop();
      inline_function(tracer, method, {{value}, {}}, continuation, nullptr);
      return std::nullopt;
    }
  }
  if (std::optional<bool> truth = truth_by_methods(tracer, value)) return truth;
  break_on_truth(tracer, value);
}

void jump_forward(Tracer& tracer, const Instruction& at) { tracer.frames().jump(at.arg); }

bool depends_on_data(Tracer& tracer, const ValuePtr& value) {
  return as<TensorValue>(value) != nullptr || as<NumberValue>(value) != nullptr || tracer.shapes().is_unbacked(value);
}

// Whether a value that depends on data is true, or false, as a bool of the graph; null for tensors that are no bool.
ValuePtr is_in_graph(Tracer& tracer, const ValuePtr& value, bool truth) {
  bool is_tensor = as<TensorValue>(value) != nullptr;
  ValuePtr found = is_tensor ? truth_in_graph(tracer, value) : computed(tracer, ScalarOp::Truth, {value});
  return found && !truth ? computed(tracer, ScalarOp::Not, {found}) : found;
}

// If the program goes on with one truth alone, that is checked when the graph runs. Returns false for other jumps and
// conditions.
bool jump_as_expected(Tracer& tracer, const Instruction& at, bool when) {
  if (!depends_on_data(tracer, tracer.frames().peek())) return false;
  const SymbolicFrame& frame = tracer.frames().innermost();
  std::optional<bool> expected = truth_that_goes_on(*frame.bytecode, frame.next - 1);
  ValuePtr condition = expected ? is_in_graph(tracer, tracer.frames().peek(), *expected) : nullptr;
  if (condition == nullptr || as<NumberValue>(condition) == nullptr) return false;
  assert_at_run_time(tracer, as<NumberValue>(condition));
  tracer.frames().pop();
  if (*expected == when) tracer.frames().jump(at.arg);
  return true;
}

template <bool when>
void pop_jump_if(Tracer& tracer, const Instruction& at) {
  if (jump_as_expected(tracer, at, when)) return;
  std::optional<bool> truth = truth_or_inline(tracer, ContinuationKind::Jump);
  if (!truth) return;
  tracer.frames().pop();
  if (*truth == when) tracer.frames().jump(at.arg);
}

template <bool when>
void pop_jump_if_none(Tracer& tracer, const Instruction& at) {
  bool is_none = same_object(tracer, tracer.frames().peek(), tracer.values().none());
  tracer.frames().pop();
  if (is_none == when) tracer.frames().jump(at.arg);
}

template <bool when>
void jump_if_or_pop(Tracer& tracer, const Instruction& at) {
  std::optional<bool> truth = truth_by_methods(tracer, tracer.frames().peek());
  if (!truth) break_on_truth(tracer, tracer.frames().peek());
  if (*truth == when) {
    tracer.frames().jump(at.arg);
  } else {
    tracer.frames().pop();
  }
}

// Pushes the truth of a dynamic number, or its negation, as a computed value. Returns false for other values.
bool push_computed(Tracer& tracer, ScalarOp scalar_op) {
  ValuePtr truth = computed(tracer, scalar_op, {tracer.frames().peek()});
  if (!truth) return false;
  tracer.frames().pop();
  tracer.frames().push(std::move(truth));
  return true;
}

void to_bool(Tracer& tracer, const Instruction&) {
  if (push_computed(tracer, ScalarOp::Truth)) return;
  if (ValuePtr known = truth_that_goes_on_next(tracer) ? truth_in_graph(tracer, tracer.frames().peek()) : nullptr) {
    tracer.frames().pop();
    return tracer.frames().push(std::move(known));
  }
  std::optional<bool> truth = truth_or_inline(tracer, ContinuationKind::PushBool);
  if (!truth) return;
  tracer.frames().pop();
  tracer.frames().push(tracer.values().boolean(*truth));
}

void unary_not(Tracer& tracer, const Instruction&) {
  if (push_computed(tracer, ScalarOp::Not)) return;
  std::optional<bool> truth = truth_or_inline(tracer, ContinuationKind::PushNotBool);
  if (!truth) return;
  tracer.frames().pop();
  tracer.frames().push(tracer.values().boolean(!*truth));
}

void get_iter(Tracer& tracer, const Instruction&) {
  ValuePtr iterable = tracer.frames().peek();
  if (auto* object = as<ObjectValue>(iterable);
      object != nullptr && object->object.type()->tp_iter == PyObject_SelfIter) {
    tracer.values().exact_type(iterable);  // an iterator of a built-in type is its own iterator
    object->opaque_iterator = true;
    return;
  }
  ValuePtr iterator = iterator_over(tracer, iterable);
  if (!iterator) {
    static PyObject* const kIter = PyUnicode_InternFromString("__iter__");
    ValuePtr method = user_method(tracer, iterable, kIter);
    if (!method) iterator = any_iterator_over(tracer, iterable);
    if (!method && !iterator) graph_break(BreakReason::unknown_iteration, describe(iterable));
    tracer.frames().pop();
    if (iterator) return tracer.frames().push(std::move(iterator));
    return call(tracer, method, {{iterable}, {}}, ContinuationKind::PushIterator);
  }
  tracer.frames().pop();
  tracer.frames().push(std::move(iterator));
}

void for_iter(Tracer& tracer, const Instruction& at) {
  ValuePtr top = tracer.frames().peek();
  auto* iterator = as<IteratorValue>(top);
  if (iterator == nullptr) {
    auto* object = as<ObjectValue>(top);
    bool opaque = object != nullptr && object->opaque_iterator;
    static PyObject* const kNext = PyUnicode_InternFromString("__next__");
    if (ValuePtr method = opaque ? nullptr : user_method(tracer, top, kNext))
      return inline_function(tracer, method, {{top}, {}}, ContinuationKind::NextOrStop, nullptr);
    graph_break(opaque ? BreakReason::opaque_iterator : BreakReason::foreign_next, describe(top));
  }
  std::optional<ValuePtr> next = next_of(tracer, iterator);
  if (next) {
    LoopScope::current().note_item(tracer, *next);
    tracer.frames().push(std::move(*next));
  } else {
    // On the stack, on the stack before this instruction, and here.
    close_if_dropped(tracer, top, 3);
    tracer.frames().pop();
    tracer.frames().jump(at.arg);
  }
}

void end_for(Tracer& tracer, const Instruction& at) { tracer.frames().pop_many(at.arg); }

void return_value(Tracer& tracer, const Instruction&) { return_value(tracer, tracer.frames().pop()); }

void return_const(Tracer& tracer, const Instruction& at) {
  return_value(tracer, tracer.values().constant(tracer.frames().bytecode().constant(at.arg)));
}

// Pushes the bound __exit__, then calls __enter__.
void before_with(Tracer& tracer, const Instruction&) {
  static PyObject* const kEnter = PyUnicode_InternFromString("__enter__");
  static PyObject* const kExit = PyUnicode_InternFromString("__exit__");
  ValuePtr manager = tracer.frames().peek();
  if (manager->kind != ValueKind::Object && manager->kind != ValueKind::Instance)
    graph_break(BreakReason::context_manager, describe(manager));
  ValuePtr enter = type_attribute(tracer, manager, kEnter);
  ValuePtr exit = type_attribute(tracer, manager, kExit);
  if (!enter || !exit) raise_here();
  if (!is_python_function(enter) || !is_python_function(exit))
    graph_break(BreakReason::context_manager, describe(manager));
  tracer.frames().pop();
  tracer.frames().push(make_value<BoundMethodValue>(exit, manager));
  inline_function(tracer, enter, {{manager}, {}}, ContinuationKind::Push, nullptr);
}

void async_only(Tracer&, const Instruction& at) { graph_break(BreakReason::async_construct, opcode_name(at.op)); }

const OpcodeRegistration registration{{Opcode::JUMP, jump_forward},
                                      {Opcode::JUMP_BACKWARD, jump_forward},
                                      {Opcode::POP_JUMP_IF_TRUE, pop_jump_if<true>},
                                      {Opcode::POP_JUMP_IF_FALSE, pop_jump_if<false>},
                                      {Opcode::POP_JUMP_IF_NONE, pop_jump_if_none<true>},
                                      {Opcode::POP_JUMP_IF_NOT_NONE, pop_jump_if_none<false>},
                                      {Opcode::JUMP_IF_TRUE_OR_POP, jump_if_or_pop<true>},
                                      {Opcode::JUMP_IF_FALSE_OR_POP, jump_if_or_pop<false>},
                                      {Opcode::TO_BOOL, to_bool},
                                      {Opcode::UNARY_NOT, unary_not},
                                      {Opcode::GET_ITER, get_iter},
                                      {Opcode::FOR_ITER, for_iter},
                                      {Opcode::END_FOR, end_for},
                                      {Opcode::RETURN_VALUE, return_value},
                                      {Opcode::RETURN_CONST, return_const},
                                      {Opcode::BEFORE_WITH, before_with},
                                      {Opcode::CLEANUP_THROW, async_only},
                                      {Opcode::ASYNC_GEN_WRAP, async_only},
                                      {Opcode::GET_AWAITABLE, async_only},
                                      {Opcode::GET_AITER, async_only},
                                      {Opcode::GET_ANEXT, async_only},
                                      {Opcode::END_ASYNC_FOR, async_only},
                                      {Opcode::BEFORE_ASYNC_WITH, async_only}};

}  // namespace

}  // namespace md
