#include "symbolic/opcodes/asserted.h"

#include <algorithm>
#include <span>

#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/tensors/tensor_numbers.h"

namespace md {

bool is_followed_by(Tracer& tracer, std::initializer_list<Opcode> ops) {
  const SymbolicFrame& frame = tracer.frames().innermost();
  std::span<const Instruction> rest(frame.bytecode->instructions());
  rest = rest.subspan(std::min(static_cast<size_t>(frame.next), rest.size()));
  return rest.size() >= ops.size() && std::ranges::equal(ops, rest.first(ops.size()), {}, {}, &Instruction::op);
}

ValuePtr truth_in_graph(Tracer& tracer, const ValuePtr& value) {
  auto* tensor = as<TensorValue>(value);
  if (tensor == nullptr || !known_equal(tensor->spec.numel(), 1)) return nullptr;
  tracer.values().guard_tensor(tensor);
  return computed(tracer, ScalarOp::Truth, {number_in_graph(tracer, tracer.builder().graph_value(tensor))});
}

}  // namespace md
