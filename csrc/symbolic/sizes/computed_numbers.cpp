#include "symbolic/sizes/computed_numbers.h"

#include "guards/guard.h"
#include "guards/guard_set.h"
#include "guards/number_code.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/tensors/tensor_numbers.h"
#include "symbolic/trace/tracer.h"

#include <algorithm>
#include <unordered_map>

namespace md {

namespace {

bool is_integer(PyTypeObject* type) { return type == &PyLong_Type || type == &PyBool_Type; }
bool is_number(PyTypeObject* type) { return is_integer(type) || type == &PyFloat_Type; }
bool is_text(PyTypeObject* type) { return type == &PyUnicode_Type; }
bool is_number_or_text(PyTypeObject* type) { return is_number(type) || is_text(type); }

// The column `fixed`: the result is computed at each run, and is not much larger than the operands are.
namespace fixed_result {

using Operands = const std::vector<ValuePtr>&;

bool all_of(Operands operands, bool (*holds)(PyTypeObject*)) {
  return std::ranges::all_of(operands, [&](const ValuePtr& operand) { return holds(type_of(operand)); });
}

bool numbers(Tracer&, Operands operands) { return all_of(operands, is_number); }
bool integers(Tracer&, Operands operands) { return all_of(operands, is_integer); }
bool texts(Tracer&, Operands operands) { return all_of(operands, is_text); }
bool numbers_or_text(Tracer&, Operands operands) { return all_of(operands, is_number_or_text); }
bool exact_int(Tracer&, Operands operands) { return type_of(operands[0]) == &PyLong_Type; }
bool numbers_to_a_function(Tracer&, Operands operands) {
  return std::all_of(operands.begin() + 1, operands.end(),
                     [](const ValuePtr& operand) { return is_number(type_of(operand)); });
}
bool formatted(Tracer&, Operands operands) {
  return is_number_or_text(type_of(operands[0])) && is_text(type_of(operands[1]));
}

// The sign of a whole exponent decides the type.
bool powers(Tracer& tracer, Operands operands) {
  if (!numbers(tracer, operands)) return false;
  bool may_guard = integers(tracer, operands) && is_dynamic(operands[1]) && tracer.entry().start().index == 0;
  std::optional<Dim> exponent = may_guard ? dim_of(tracer, operands[1]) : std::nullopt;
  if (exponent) static_cast<void>(md::known_less(*exponent, 0));
  return true;
}

constexpr bool (*kRows[])(Tracer&, Operands) = {
#define MD_SCALAR_OP(name, sign, raises, expression, fixed, on_sizes, compare, in_graph) fixed,
#include "guards/scalar_ops.def"
#undef MD_SCALAR_OP
};

}  // namespace fixed_result

bool has_fixed_result(Tracer& tracer, ScalarOp scalar_op, const std::vector<ValuePtr>& operands) {
  return fixed_result::kRows[static_cast<size_t>(scalar_op)](tracer, operands);
}

bool may_raise(ScalarOp scalar_op, const std::vector<ValuePtr>& operands) {
  if (raises(scalar_op) != Raises::WithFloats) return raises(scalar_op) != Raises::Never;
  return std::ranges::any_of(operands, [](const ValuePtr& operand) { return type_of(operand) == &PyFloat_Type; });
}

// The computation of a value as the code of a guard.
class GuardedComputation {
 public:
  explicit GuardedComputation(Tracer& tracer) : tracer_(tracer) {}

  // The step of the value; nullopt if guards cannot compute it.
  std::optional<uint32_t> add(const ValuePtr& value) {
    if (auto found = steps_.find(value.get()); found != steps_.end()) return found->second;
    std::optional<uint32_t> step = code_.size() < kMostSteps ? made(value) : std::nullopt;
    if (step) steps_.emplace(value.get(), *step);
    return step;
  }
  // Some number is read, but not too many.
  bool is_complete() const { return !code_.places().empty() && code_.places().size() <= kMostSizes; }
  NumberCode take() { return std::move(code_); }

 private:
  static constexpr size_t kMostSteps = 64;

  std::optional<uint32_t> made(const ValuePtr& value) {
    if (auto* object = as<ObjectValue>(value))
      return is_dynamic(value) ? code_.add_place({object->source, -1}) : code_.add_constant(object->object);
    auto* computed = as<ComputedValue>(value);
    if (computed == nullptr) return std::nullopt;
    if (computed->known) return code_.add_constant(computed->current);
    if (computed->parts.empty()) return of_size(*computed->dim);
    std::vector<uint32_t> operands;
    for (const ValuePtr& part : computed->parts) {
      std::optional<uint32_t> operand = add(part);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    return code_.add_op(computed->scalar_op, std::move(operands));
  }

  std::optional<uint32_t> of_size(Dim dim) {
    if (tracer_.shapes().is_unbacked(dim)) return std::nullopt;
    SymbolList symbols;
    symbols.add(dim);
    std::vector<uint32_t> operands;
    for (const SizePlace& place : tracer_.shapes().places_of(symbols)) operands.push_back(code_.add_place(place));
    return code_.add_size(dim, symbols, std::move(operands));
  }

  Tracer& tracer_;
  NumberCode code_;
  std::unordered_map<const Value*, uint32_t> steps_;
};

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
  if (!any_dynamic || !has_fixed_result(tracer, scalar_op, operands)) return nullptr;
  std::vector<PyObject*> objects;
  for (ValuePtr& operand : operands) {
    tracer.values().exact_type(operand);
    // Any other object is the function that is called.
    if (is_number_or_text(type_of(operand)) && !is_dynamic(operand)) {
      Ref known = constant_of(tracer, operand);
      if (!known) return nullptr;
      operand = tracer.values().constant(known);
    }
    objects.push_back(current_object(operand));
  }
  Ref current = compute(scalar_op, objects);
  if (!current) raise_here();
  if (!is_number_or_text(current.type())) return nullptr;
  bool raises = may_raise(scalar_op, operands);
  ValuePtr value = make_value<ComputedValue>(scalar_op, std::move(operands), std::move(current));
  if (raises) tracer.shapes().add_may_raise(value);
  return value;
}

bool guard_result(Tracer& tracer, const ComputedValue& value) {
  // After a break the interpreter decides on numbers that vary.
  if (tracer.entry().start().index > 0) return false;
  GuardedComputation computation(tracer);
  std::vector<uint32_t> operands;
  for (const ValuePtr& part : value.parts) {
    std::optional<uint32_t> operand = computation.add(part);
    if (!operand) return false;
    operands.push_back(*operand);
  }
  if (!computation.is_complete()) return false;
  NumberCode code = computation.take();
  code.add_op(value.scalar_op, std::move(operands));
  tracer.guards().number(std::move(code), value.current);
  return true;
}

}  // namespace md
