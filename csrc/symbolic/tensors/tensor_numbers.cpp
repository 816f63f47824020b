#include "symbolic/tensors/tensor_numbers.h"

#include <algorithm>
#include <limits>

#include "base/config.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/marked_calls.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/tensors/known_tensors.h"
#include "symbolic/values/number_types.h"

namespace md {

namespace {

// tolist() of more numbers is left to the interpreter.
constexpr int64_t kMostNumbers = 64;

[[noreturn]] void refuse(const std::string& what) {
  graph_break(BreakReason::tensor_to_number, what + " of a number taken out of a tensor");
}

PyTypeObject* number_type(DType dtype) {
  switch (row(dtype).category) {
    case DTypeCategory::Bool:
      return &PyBool_Type;
    case DTypeCategory::Integer:
      return &PyLong_Type;
    case DTypeCategory::Floating:
      return &PyFloat_Type;
    case DTypeCategory::Complex:
      refuse("the value");
  }
  throw Error(ErrorKind::Internal, "a dtype of no category");
}

DType number_dtype(PyTypeObject* type) {
  return type == &PyBool_Type ? DType::bool_ : type == &PyLong_Type ? DType::int64 : DType::float64;
}

ValueRef add(Tracer& tracer, const char* op, std::vector<Operand> operands) {
  return {tracer.builder().add_op(*find_op(op), std::move(operands)), 0};
}

ValuePtr number(PyTypeObject* type, ValueRef ref) { return make_value<NumberValue>(type, ref); }

ValueRef cast(Tracer& tracer, ValueRef ref, DType dtype) {
  return tracer.graph().info(ref).spec.dtype == dtype ? ref : add(tracer, "cast", {ref, dtype});
}

// An op that fails if the result overflows, so that the interpreter runs the region instead: not possible after a host
// call.
ValueRef checked(Tracer& tracer, const char* op, std::vector<Operand> operands) {
  if (tracer.graph().has_host_call())
    graph_break(BreakReason::tensor_to_number, "arithmetic of a whole number after a custom operator");
  return add(tracer, op, std::move(operands));
}

// An operand next to a number of the graph: another one, a dynamic number, or a constant.
struct Side {
  PyTypeObject* type;
  Operand operand;
  std::optional<Scalar> constant;
  bool is(PyTypeObject* other) const { return type == other; }
};

std::optional<Scalar> scalar_of(BorrowedRef object) {
  if (PyBool_Check(object.get())) return Scalar(object.get() == Py_True);
  if (PyFloat_CheckExact(object.get())) return Scalar(PyFloat_AS_DOUBLE(object.get()));
  if (!PyLong_CheckExact(object.get())) return std::nullopt;
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0 ? std::optional(Scalar(static_cast<int64_t>(value))) : std::nullopt;
}

Side side_of(Tracer& tracer, const ValuePtr& value, const char* what) {
  if (auto* own = as<NumberValue>(value)) return {own->type, own->ref, std::nullopt};
  if (ValuePtr size = number_of_unbacked(tracer, value)) return side_of(tracer, size, what);
  PyTypeObject* type = type_of(value);
  if (!is_real_number_type(type)) refuse(str_cat(what, " with a ", describe(value)));
  if (is_dynamic(value) && type != &PyBool_Type) {
    refuse_unbacked(tracer, value);
    return {type, tracer.builder().scalar_input(value), std::nullopt};
  }
  Ref constant = constant_of(tracer, value);
  std::optional<Scalar> scalar = constant ? scalar_of(constant) : std::nullopt;
  if (!scalar) refuse(str_cat(what, " with a ", describe(value)));
  return {type, *scalar, scalar};
}

bool is_zero(const Side& side) { return side.constant && side.constant->as_double() == 0; }

// Returns true if all its possible values are exactly representable as a float.
bool is_exact_as_float(const Side& side) {
  if (!side.is(&PyLong_Type)) return true;
  constexpr int64_t kLimit = int64_t{1} << 53;
  return side.constant && side.constant->as_int() >= -kLimit && side.constant->as_int() <= kLimit;
}

// The side as a graph operand of that dtype.
Operand as_dtype(Tracer& tracer, const Side& side, DType dtype) {
  auto* ref = std::get_if<ValueRef>(&side.operand);
  if (ref == nullptr) {
    return dtype == DType::float64 ? Operand(Scalar(side.constant->as_double()))
                                   : Operand(Scalar(side.constant->as_int()));
  }
  return tracer.graph().info(*ref).is_scalar ? side.operand : Operand(cast(tracer, *ref, dtype));
}

Operand one() { return Scalar(int64_t{1}); }

bool is_tensor(Tracer& tracer, const Operand& operand) {
  auto* ref = std::get_if<ValueRef>(&operand);
  return ref != nullptr && !tracer.graph().info(*ref).is_scalar;
}

// Two numbers as operands of the graph: a tensor first, and whether they changed places for that.
struct Pair {
  ValueRef tensor;
  Operand other;
  bool swapped;
  const Side& divisor;
};

Pair pair_of(Tracer& tracer, const Side& a, const Side& b, DType dtype) {
  Operand left = as_dtype(tracer, a, dtype), right = as_dtype(tracer, b, dtype);
  bool swapped = !is_tensor(tracer, left);
  if (swapped) std::swap(left, right);
  return {std::get<ValueRef>(left), right, swapped, b};
}

// The column `in_graph`.
namespace in_graph {

// Integers of any size are Python's: where the result needs more than 64 bits the plan fails.
ValueRef add_integers(Tracer& tracer, const Pair& pair) {
  return checked(tracer, "checked_add", {pair.tensor, pair.other});
}
ValueRef multiply_integers(Tracer& tracer, const Pair& pair) {
  return checked(tracer, "checked_mul", {pair.tensor, pair.other});
}
ValueRef subtract_integers(Tracer& tracer, const Pair& pair) {
  if (!pair.swapped) return checked(tracer, "checked_sub", {pair.tensor, pair.other});
  return checked(tracer, "checked_add",
                 {checked(tracer, "checked_mul", {pair.tensor, Scalar(int64_t{-1})}), pair.other});
}
// By a number above zero neither can fail.
void check_divisor(const Pair& pair) {
  const std::optional<Scalar>& constant = pair.divisor.constant;
  if (pair.swapped || !constant || constant->as_int() <= 0) refuse("division");
}
ValueRef divide_integers(Tracer& tracer, const Pair& pair) {
  check_divisor(pair);
  return add(tracer, "floor_divide", {pair.tensor, pair.other});
}
ValueRef rest_of_integers(Tracer& tracer, const Pair& pair) {
  check_divisor(pair);
  return add(tracer, "remainder", {pair.tensor, pair.other});
}

// 1 / n: the op takes a tensor first.
ValueRef true_quotient(Tracer& tracer, const Pair& pair) {
  if (!pair.swapped) return checked(tracer, "checked_div", {pair.tensor, pair.other});
  if (!std::holds_alternative<Scalar>(pair.other)) refuse("division");
  return checked(tracer, "checked_div", {add(tracer, "full", {DimVec(), pair.other, DType::int64}), pair.tensor});
}

ValueRef add_floats(Tracer& tracer, const Pair& pair) { return add(tracer, "add", {pair.tensor, pair.other, one()}); }
ValueRef multiply_floats(Tracer& tracer, const Pair& pair) { return add(tracer, "mul", {pair.tensor, pair.other}); }
ValueRef subtract_floats(Tracer& tracer, const Pair& pair) {
  if (!pair.swapped) return add(tracer, "sub", {pair.tensor, pair.other, one()});
  return add(tracer, "add", {add(tracer, "neg", {pair.tensor}), pair.other, one()});
}
// 1.0; the plan fails where the condition does not hold.
ValueRef one_if(Tracer& tracer, ValueRef condition) {
  return checked(tracer, "checked_div",
                 {add(tracer, "full", {DimVec(), one(), DType::int64}), cast(tracer, condition, DType::int64)});
}
ValueRef float_tensor(Tracer& tracer, const Operand& number) {
  if (is_tensor(tracer, number)) return std::get<ValueRef>(number);
  return add(tracer, "full", {DimVec(), number, DType::float64});
}
// The operands of the pair in their own order.
std::pair<ValueRef, ValueRef> floats_in_order(Tracer& tracer, const Pair& pair) {
  ValueRef other = float_tensor(tracer, pair.other);
  return pair.swapped ? std::pair(other, pair.tensor) : std::pair(pair.tensor, other);
}
// Python raises at zero.
ValueRef divide_floats(Tracer& tracer, const Pair& pair) {
  if (is_zero(pair.divisor)) refuse("division");
  if (!pair.swapped && pair.divisor.constant) return add(tracer, "div", {pair.tensor, pair.other});
  auto [dividend, divisor] = floats_in_order(tracer, pair);
  ValueRef quotient = add(tracer, "div", {dividend, divisor});
  return multiply_floats(tracer,
                         {quotient, one_if(tracer, add(tracer, "ne", {divisor, Scalar(0.0)})), false, pair.divisor});
}
// Of numbers above zero, with a finite result: elsewhere Python raises, or computes a complex number. The last bits may
// differ from Python's: for a library's own arithmetic only.
ValueRef raise_floats(Tracer& tracer, const Pair& pair) {
  if (!captures_numbers_in(tracer.frames().bytecode().code())) refuse("power");
  auto [base, exponent] = floats_in_order(tracer, pair);
  ValueRef power = add(tracer, "pow", {base, exponent});
  ValueRef is_above = add(tracer, "gt", {base, Scalar(0.0)});
  ValueRef is_finite =
      add(tracer, "lt", {add(tracer, "abs", {power}), Scalar(std::numeric_limits<double>::infinity())});
  ValueRef holds = add(tracer, "logical_and", {is_above, is_finite});
  return multiply_floats(tracer, {power, one_if(tracer, holds), false, pair.divisor});
}

ValuePtr positive(Tracer& tracer, const ValuePtr& value, const NumberValue& own) {
  return own.type == &PyBool_Type ? number(&PyLong_Type, cast(tracer, own.ref, DType::int64)) : value;
}
ValuePtr negative(Tracer& tracer, const ValuePtr&, const NumberValue& own) {
  if (own.type == &PyFloat_Type) return number(&PyFloat_Type, add(tracer, "neg", {own.ref}));
  return number(&PyLong_Type,
                checked(tracer, "checked_mul", {cast(tracer, own.ref, DType::int64), Scalar(int64_t{-1})}));
}
ValuePtr absolute(Tracer& tracer, const ValuePtr&, const NumberValue& own) {
  if (own.type != &PyFloat_Type) refuse("abs()");
  return number(&PyFloat_Type, add(tracer, "abs", {own.ref}));
}
ValuePtr to_int(Tracer& tracer, const ValuePtr& value, const NumberValue& own) {
  if (own.type == &PyFloat_Type) return number(&PyLong_Type, checked(tracer, "checked_int", {own.ref}));
  return own.type == &PyLong_Type ? value : number(&PyLong_Type, cast(tracer, own.ref, DType::int64));
}
ValuePtr to_float(Tracer& tracer, const ValuePtr& value, const NumberValue& own) {
  return own.type == &PyFloat_Type ? value : number(&PyFloat_Type, cast(tracer, own.ref, DType::float64));
}
ValuePtr truth(Tracer& tracer, const ValuePtr& value, const NumberValue& own) {
  if (own.type == &PyBool_Type) return value;
  return number(&PyBool_Type, add(tracer, "ne", {own.ref, Scalar(int64_t{0})}));
}
ValuePtr negation(Tracer& tracer, const ValuePtr&, const NumberValue& own) {
  return number(&PyBool_Type, own.type == &PyBool_Type ? add(tracer, "logical_not", {own.ref})
                                                       : add(tracer, "eq", {own.ref, Scalar(int64_t{0})}));
}

// One of three kinds of rules, or none: arithmetic (null: of these numbers it is not computed), a comparison, a
// function of one number.
struct Rule {
  bool is_arithmetic = false;
  ValueRef (*integers)(Tracer&, const Pair&) = nullptr;
  ValueRef (*floats)(Tracer&, const Pair&) = nullptr;
  const char *op = nullptr, *mirrored = nullptr;
  ValuePtr (*unary)(Tracer&, const ValuePtr&, const NumberValue&) = nullptr;
};
constexpr Rule kNone{};
constexpr Rule kAdd{true, add_integers, add_floats}, kSubtract{true, subtract_integers, subtract_floats},
    kMultiply{true, multiply_integers, multiply_floats}, kFloorDivide{true, divide_integers},
    kRemainder{true, rest_of_integers}, kTrueDivide{true, true_quotient, divide_floats},
    kPower{true, nullptr, raise_floats};
constexpr Rule kLess{.op = "lt", .mirrored = "gt"}, kLessEqual{.op = "le", .mirrored = "ge"},
    kEqual{.op = "eq", .mirrored = "eq"}, kNotEqual{.op = "ne", .mirrored = "ne"},
    kGreater{.op = "gt", .mirrored = "lt"}, kGreaterEqual{.op = "ge", .mirrored = "le"};
constexpr Rule kPositive{.unary = positive}, kNegative{.unary = negative}, kAbsolute{.unary = absolute},
    kInt{.unary = to_int}, kFloat{.unary = to_float}, kTruth{.unary = truth}, kNot{.unary = negation};

constexpr Rule kRows[] = {
#define MD_SCALAR_OP(name, sign, raises, expression, fixed, on_sizes, compare, in_graph) in_graph,
#include "guards/scalar_ops.def"
#undef MD_SCALAR_OP
};

}  // namespace in_graph

ValuePtr arithmetic(Tracer& tracer, const in_graph::Rule& rule, const Side& a, const Side& b, const char* what) {
  bool with_float = a.is(&PyFloat_Type) || b.is(&PyFloat_Type);
  auto* compute = with_float ? rule.floats : rule.integers;
  Pair pair = pair_of(tracer, a, b, with_float ? DType::float64 : DType::int64);
  if (compute == nullptr) refuse(what);
  ValueRef result = compute(tracer, pair);
  return number(number_type(tracer.graph().info(result).spec.dtype), result);
}

ValuePtr comparison(Tracer& tracer, const in_graph::Rule& rule, const Side& a, const Side& b) {
  // Python compares an integer with a float exactly, whatever their size.
  bool with_float = a.is(&PyFloat_Type) || b.is(&PyFloat_Type);
  if (with_float && !(is_exact_as_float(a) && is_exact_as_float(b))) refuse("comparison with a number of another type");
  Pair pair = pair_of(tracer, a, b, with_float ? DType::float64 : DType::int64);
  return number(&PyBool_Type, add(tracer, pair.swapped ? rule.mirrored : rule.op, {pair.tensor, pair.other}));
}

}  // namespace

ValuePtr number_in_graph(Tracer& tracer, ValueRef ref) {
  const TensorSpec& spec = tracer.graph().info(ref).spec;
  if (spec.dtype == DType::uint64) refuse("the value");
  PyTypeObject* type = number_type(spec.dtype);
  bool needs_grad = spec.requires_grad;
  if (needs_grad) ref = add(tracer, "detach", {ref});
  if (spec.rank() > 0) ref = add(tracer, "reshape", {ref, DimVec()});
  DType dtype = number_dtype(type);
  return number(type, spec.dtype == dtype ? add(tracer, "clone", {ref}) : add(tracer, "cast", {ref, dtype}));
}

namespace {

ValuePtr nested(Tracer& tracer, ValueRef ref) {
  const TensorSpec spec = tracer.graph().info(ref).spec;
  if (spec.rank() == 0) return number_in_graph(tracer, ref);
  std::vector<ValuePtr> items;
  for (int64_t i = 0; i < spec.sizes[0].value(); ++i)
    items.push_back(nested(tracer, add(tracer, "select", {ref, Scalar(int64_t{0}), Scalar(i)})));
  return make_value<SequenceValue>(true, std::move(items));
}

// The integer that a tensor of the caller held at the region's start: what is decided on it is guarded, as for an int
// of the caller. Null for other tensors.
ValuePtr number_from_outside(Tracer& tracer, TensorValue* tensor) {
  bool is_whole = row(tensor->spec.dtype).category == DTypeCategory::Integer;
  if (tensor->source == nullptr || !is_whole || tracer.graph().has_host_call()) return nullptr;
  static_cast<void>(tracer.builder().graph_value(tensor));  // apart from what the region writes
  if (tensor->base != nullptr && tensor->base->version > 0) return nullptr;
  SizePlace place{tensor->source, SizePlace::kElement};
  std::optional<int64_t> now = read_size(place, tensor->object);
  if (!now || *now > INT64_MAX / 4 || *now < -(INT64_MAX / 4)) return nullptr;
  return size_value(tracer, tracer.shapes().symbol(place, *now));
}

}  // namespace

bool captures_numbers(Tracer& tracer) {
  return config().capture_scalar_outputs || tracer.frames().innermost().policy->fullgraph ||
         captures_numbers_in(tracer.frames().bytecode().code());
}

ValuePtr number_of(Tracer& tracer, TensorValue* tensor) {
  tracer.values().guard_tensor(tensor);
  if (!known_equal(tensor->spec.numel(), 1)) raise_here();
  if (Ref known = known_number(tracer, tensor)) return tracer.values().constant(std::move(known));
  if (ValuePtr number = number_from_outside(tracer, tensor)) return number;
  return number_in_graph(tracer, tracer.builder().graph_value(tensor));
}

ValuePtr numbers_of(Tracer& tracer, TensorValue* tensor) {
  tracer.values().guard_tensor(tensor);
  if (ValuePtr known = known_elements(tracer, tensor)) return known;
  specialise(tracer, tensor->spec);
  if (tensor->spec.numel().value() > kMostNumbers)
    graph_break(BreakReason::tensor_to_list, str_cat("tolist() of ", tensor->spec.str()));
  return nested(tracer, tracer.builder().graph_value(tensor));
}

ValuePtr extreme_in_graph(Tracer& tracer, bool largest, const std::vector<ValuePtr>& values) {
  auto is_whole = [](const ValuePtr& value) { return type_of(value) == &PyLong_Type; };
  if (!std::ranges::all_of(values, is_whole)) refuse(largest ? "max()" : "min()");
  const char* op = largest ? "clamp_min" : "clamp_max";
  std::optional<ValueRef> best;
  // Numbers of the graph first: the op takes a tensor and a number.
  std::vector<Side> sides;
  for (const ValuePtr& value : values) sides.push_back(side_of(tracer, value, op));
  std::ranges::stable_partition(sides, [&](const Side& side) { return is_tensor(tracer, side.operand); });
  for (const Side& side : sides)
    best = best ? add(tracer, op, {*best, side.operand}) : std::get<ValueRef>(side.operand);
  return number(&PyLong_Type, *best);
}

namespace {

// Returns true for an integer division by a number that may be zero or negative: the graph has no exact op for it, but
// sizes do.
bool divides_by_unknown(ScalarOp scalar_op, const Side& a, const Side& b) {
  bool divides = scalar_op == ScalarOp::FloorDivide || scalar_op == ScalarOp::Remainder;
  return divides && a.is(&PyLong_Type) && b.is(&PyLong_Type) && !(b.constant && b.constant->as_int() > 0);
}

}  // namespace

ValuePtr computed_in_graph(Tracer& tracer, ScalarOp scalar_op, const std::vector<ValuePtr>& operands) {
  auto is_own = [](const ValuePtr& value) { return as<NumberValue>(value) != nullptr; };
  if (std::ranges::none_of(operands, is_own)) return nullptr;
  const in_graph::Rule& rule = in_graph::kRows[static_cast<size_t>(scalar_op)];
  const char* what = scalar_op_name(scalar_op);
  if (rule.unary != nullptr) return rule.unary(tracer, operands[0], *as<NumberValue>(operands[0]));
  if (!rule.is_arithmetic && rule.op == nullptr) refuse(what);
  Side a = side_of(tracer, operands[0], what), b = side_of(tracer, operands[1], what);
  if (divides_by_unknown(scalar_op, a, b))
    if (ValuePtr size = size_computed(tracer, scalar_op, operands)) return size;
  return rule.is_arithmetic ? arithmetic(tracer, rule, a, b, what) : comparison(tracer, rule, a, b);
}

}  // namespace md
