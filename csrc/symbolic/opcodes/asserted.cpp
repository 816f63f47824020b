#include "symbolic/opcodes/asserted.h"

#include <algorithm>

#include "bytecode/bytecode.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/tensors/tensor_numbers.h"

namespace md {
namespace {

// A message with its formatting is shorter than that.
constexpr int kStraightPath = 200;

// By a handler of the function that is not a with statement's.
bool catches(const Bytecode& code, int raise) {
  int handler = code.handler_at(raise).target;
  return handler >= 0 && (handler + 1 >= code.size() || code[handler + 1].op != Opcode::WITH_EXCEPT_START);
}

// Whether control that comes to the instruction has no other way than to a raise that leaves the function.
bool leads_to_raise(const Bytecode& code, int from) {
  bool asserts = code[from].op == Opcode::LOAD_ASSERTION_ERROR;
  for (int at = from; at < std::min(code.size(), from + kStraightPath); ++at) {
    Opcode op = code[at].op;
    if (op == Opcode::RAISE_VARARGS) return asserts || !catches(code, at);
    if (has_target(op) || ends_flow(op) || op == Opcode::YIELD_VALUE || op == Opcode::BEFORE_WITH) return false;
  }
  return false;
}

}  // namespace

std::optional<bool> truth_that_goes_on(const Bytecode& code, int jump) {
  if (jump + 1 >= code.size()) return {};
  bool when = code[jump].op == Opcode::POP_JUMP_IF_TRUE;
  if (!when && code[jump].op != Opcode::POP_JUMP_IF_FALSE) return {};
  bool falls_into_raise = leads_to_raise(code, jump + 1);
  if (falls_into_raise == leads_to_raise(code, code[jump].arg)) return {};
  return falls_into_raise == when;
}

std::optional<bool> truth_that_goes_on_next(Tracer& tracer) {
  const SymbolicFrame& frame = tracer.frames().innermost();
  if (frame.next >= frame.bytecode->size()) return {};
  return truth_that_goes_on(*frame.bytecode, frame.next);
}

ValuePtr truth_in_graph(Tracer& tracer, const ValuePtr& value) {
  auto* tensor = as<TensorValue>(value);
  if (tensor == nullptr || !known_equal(tensor->spec.numel(), 1)) return nullptr;
  tracer.values().guard_tensor(tensor);
  return computed(tracer, ScalarOp::Truth, {number_in_graph(tracer, tracer.builder().graph_value(tensor))});
}

}  // namespace md
