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
bool is_text(PyTypeObject* type) { return type == &PyUnicode_Type; }
bool is_number_or_text(PyTypeObject* type) { return is_number(type) || is_text(type); }

// The column `fixed`: the types of the operands decide the type of the result, and the result is not much larger than they are.
namespace fixed_result {

using Operands = const std::vector<ValuePtr>&;

bool all_of(Operands operands, bool (*holds)(PyTypeObject*)) {
  return std::ranges::all_of(operands, [&](const ValuePtr& operand) { return holds(type_of(operand)); });
}

bool numbers(Operands operands) { return all_of(operands, is_number); }
bool integers(Operands operands) { return all_of(operands, is_integer); }
bool texts(Operands operands) { return all_of(operands, is_text); }
bool numbers_or_text(Operands operands) { return all_of(operands, is_number_or_text); }
bool exact_int(Operands operands) { return type_of(operands[0]) == &PyLong_Type; }
bool formatted(Operands operands) { return is_number_or_text(type_of(operands[0])) && is_text(type_of(operands[1])); }

// A negative exponent returns a float, a fractional one of a negative number a complex.
bool small_power(Operands operands) {
  auto* exponent = as<ObjectValue>(operands[1]);
  if (exponent == nullptr || exponent->source != nullptr || !PyLong_CheckExact(exponent->object.get())) return false;
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(exponent->object, &overflow);
  return overflow == 0 && value >= 0 && value <= 64 && is_number(type_of(operands[0]));
}

constexpr bool (*kRows[])(Operands) = {
#define MD_SCALAR_OP(name, raises, expression, fixed, on_sizes, compare, in_graph) fixed,
#include "snapshot/scalar_ops.def"
#undef MD_SCALAR_OP
};

}  // namespace fixed_result

bool has_fixed_result(ScalarOp scalar_op, const std::vector<ValuePtr>& operands) {
  return fixed_result::kRows[static_cast<size_t>(scalar_op)](operands);
}

bool may_raise(ScalarOp scalar_op, const std::vector<ValuePtr>& operands) {
  if (raises(scalar_op) != Raises::WithFloats) return raises(scalar_op) == Raises::ByValue;
  return std::ranges::any_of(operands, [](const ValuePtr& operand) { return type_of(operand) == &PyFloat_Type; });
}

BorrowedRef current_object(const ValuePtr& operand) {
  if (auto* computed = as<ComputedValue>(operand)) return computed->current.get();
  return as<ObjectValue>(operand)->object.get();
}

}  // namespace

ValuePtr computed(Tracer& tracer, ScalarOp scalar_op, std::vector<ValuePtr> operands) {
  if (ValuePtr size = computed_of_unbacked(tracer, scalar_op, operands)) return size;
  if (ValuePtr number = computed_in_graph(tracer, scalar_op, operands)) return number;
  bool any_dynamic = false;
  for (const ValuePtr& operand : operands) {
    any_dynamic = any_dynamic || is_dynamic(operand);
    if (operand->kind != ValueKind::Object && operand->kind != ValueKind::Computed) return nullptr;
  }
  if (!any_dynamic || !has_fixed_result(scalar_op, operands)) return nullptr;
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
  Ref current = compute(scalar_op, objects);
  if (!current) raise_here();
  bool raises = may_raise(scalar_op, operands);
  ValuePtr value = make_value<ComputedValue>(scalar_op, std::move(operands), std::move(current));
  if (raises) tracer.shapes().add_may_raise(value);
  return value;
}

}  // namespace md
