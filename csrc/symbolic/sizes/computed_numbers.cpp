#include "symbolic/sizes/computed_numbers.h"

#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/tensors/tensor_numbers.h"
#include "symbolic/trace/tracer.h"

#include <algorithm>

namespace md {

namespace {

bool is_integer(PyTypeObject* type) { return type == &PyLong_Type || type == &PyBool_Type; }
bool is_number(PyTypeObject* type) { return is_integer(type) || type == &PyFloat_Type; }
bool is_number_or_text(PyTypeObject* type) { return is_number(type) || type == &PyUnicode_Type; }

bool all_of(const std::vector<ValuePtr>& operands, bool (*holds)(PyTypeObject*)) {
  for (const ValuePtr& operand : operands)
    if (!holds(type_of(operand))) return false;
  return true;
}

// The types of the operands decide the type of the result, and the result is not much larger than they are.
bool has_fixed_result(Computation computation, const std::vector<ValuePtr>& operands) {
  switch (computation) {
    case Computation::And:
    case Computation::Or:
    case Computation::Xor:
    case Computation::Rshift:
      return all_of(operands, is_integer);
    case Computation::Power: {
      // A negative exponent gives a float, a fractional one of a negative number a complex.
      auto* exponent = as<ObjectValue>(operands[1]);
      if (exponent == nullptr || exponent->source != nullptr || !PyLong_CheckExact(exponent->object.get()))
        return false;
      int overflow = 0;
      long long value = PyLong_AsLongLongAndOverflow(exponent->object, &overflow);
      return overflow == 0 && value >= 0 && value <= 64 && is_number(type_of(operands[0]));
    }
    case Computation::Invert:
      return type_of(operands[0]) == &PyLong_Type;
    case Computation::Truth:
    case Computation::Not:
    case Computation::Str:
      return all_of(operands, is_number_or_text);
    case Computation::Format:
      return is_number_or_text(type_of(operands[0])) && type_of(operands[1]) == &PyUnicode_Type;
    case Computation::Join:
      return all_of(operands, [](PyTypeObject* type) { return type == &PyUnicode_Type; });
    default:
      return all_of(operands, is_number);
  }
}

bool may_raise(Computation computation, const std::vector<ValuePtr>& operands) {
  if (raises(computation) != Raises::WithFloats) return raises(computation) == Raises::ByValue;
  return std::ranges::any_of(operands, [](const ValuePtr& operand) { return type_of(operand) == &PyFloat_Type; });
}

BorrowedRef current_object(const ValuePtr& operand) {
  if (auto* computed = as<ComputedValue>(operand)) return computed->current.get();
  return as<ObjectValue>(operand)->object.get();
}

}  // namespace

ValuePtr computed(Tracer& tracer, Computation computation, std::vector<ValuePtr> operands) {
  if (ValuePtr size = computed_of_unbacked(tracer, computation, operands)) return size;
  if (ValuePtr number = computed_in_graph(tracer, computation, operands)) return number;
  bool is_dynamic = false;
  for (const ValuePtr& operand : operands) {
    is_dynamic = is_dynamic || is_dynamic(operand);
    if (operand->kind != ValueKind::Object && operand->kind != ValueKind::Computed) return nullptr;
  }
  if (!is_dynamic || !has_fixed_result(computation, operands)) return nullptr;
  std::vector<PyObject*> objects;
  for (ValuePtr& operand : operands) {
    tracer.values().exact_type(operand);
    if (!is_dynamic(operand)) {
      Ref known = constant_of(tracer, operand);
      if (!known) return nullptr;
      operand = tracer.values().constant(known);
    }
    objects.push_back(current_object(operand));
  }
  Ref current = compute(computation, objects);
  if (!current) raise_here();
  bool raises = may_raise(computation, operands);
  ValuePtr value = make_value<ComputedValue>(computation, std::move(operands), std::move(current));
  if (raises) tracer.shapes().add_may_raise(value);
  return value;
}

}  // namespace md
