#include "symbolic/tensors/sequence_operands.h"

#include "guards/tensor_family.h"
#include "symbolic/calls/calls.h"
#include "symbolic/facts/value_facts.h"

namespace md {

ValuePtr tensor_of_sequence(Tracer& tracer, const TensorFamily& family, const ValuePtr& value,
                            std::optional<DType> dtype) {
  PyTypeObject* type = type_of(value);
  // Beside scalars, lists are repeated or refused.
  bool is_taken = family.sequence_converter != nullptr && !holds_scalars(family);
  if (!is_taken || (type != &PyList_Type && type != &PyTuple_Type)) return nullptr;
  CallArgs args{{value}, {}};
  if (dtype) args.positional.push_back(tracer.values().constant(family.dtype_object(*dtype)));
  return call_now(tracer, tracer.values().constant(family.sequence_converter()), std::move(args));
}

void convert_sequence(Tracer& tracer, ValuePtr& left, ValuePtr& right) {
  auto* tensor = as<TensorValue>(is_tensor(left) ? left : right);
  if (tensor == nullptr) return;
  ValuePtr& other = is_tensor(left) ? right : left;
  if (ValuePtr made = tensor_of_sequence(tracer, *tensor->family, other)) other = made;
}

}  // namespace md
