#include "symbolic/tensors/tensor_numbers.h"

#include <algorithm>
#include <limits>

#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/sizes/unbacked_sizes.h"

namespace md {

namespace {

// A list of more numbers is Python's to make.
constexpr int64_t kMostNumbers = 64;

PyTypeObject* number_type(DType dtype) {
  switch (row(dtype).category) {
    case DTypeCategory::Bool:
      return &PyBool_Type;
    case DTypeCategory::Integer:
      return &PyLong_Type;
    default:
      return &PyFloat_Type;
  }
}

DType number_dtype(PyTypeObject* type) {
  return type == &PyBool_Type ? DType::bool_ : type == &PyLong_Type ? DType::int64 : DType::float64;
}

ValueRef add(Tracer& tracer, const char* op, std::vector<Operand> operands) {
  return {tracer.graph().add_op(*find_op(op), std::move(operands), tracer.frames().location()), 0};
}

ValuePtr number(PyTypeObject* type, ValueRef ref) { return make_value<NumberValue>(type, ref); }

ValueRef cast(Tracer& tracer, ValueRef ref, DType dtype) {
  return tracer.graph().info(ref).spec.dtype == dtype ? ref : add(tracer, "cast", {ref, dtype});
}

// What fails where the result does not fit, and Python runs the region instead: not once the region has called out.
ValueRef checked(Tracer& tracer, const char* op, std::vector<Operand> operands) {
  if (tracer.graph().has_host_call())
    graph_break(BreakReason::tensor_to_number, "arithmetic of a whole number after a custom operator");
  return add(tracer, op, std::move(operands));
}

[[noreturn]] void refuse(const std::string& what) {
  graph_break(BreakReason::tensor_to_number, what + " of a number taken out of a tensor");
}

// An operand beside a number of the graph: one too, a number that varies, or a constant.
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
  if (ValuePtr told = number_of_unbacked(tracer, value)) return side_of(tracer, told, what);
  PyTypeObject* type = type_of(value);
  bool is_number = type == &PyBool_Type || type == &PyLong_Type || type == &PyFloat_Type;
  if (!is_number) refuse(str_cat(what, " with a ", describe(value)));
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

// Every value that it can have is a float too.
bool is_exact_as_float(const Side& side) {
  if (!side.is(&PyLong_Type)) return true;
  constexpr int64_t kLimit = int64_t{1} << 53;
  return side.constant && side.constant->as_int() >= -kLimit && side.constant->as_int() <= kLimit;
}

// A tensor of the graph for a side, of that dtype.
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

// Whole numbers of any size are Python's: where the result needs more than 64 bits the plan fails.
ValuePtr whole_arithmetic(Tracer& tracer, Computation computation, const Side& a, const Side& b) {
  Operand left = as_dtype(tracer, a, DType::int64), right = as_dtype(tracer, b, DType::int64);
  bool swapped = !is_tensor(tracer, left);
  if (swapped) std::swap(left, right);
  ValueRef tensor = std::get<ValueRef>(left);
  switch (computation) {
    case Computation::Add:
      return number(&PyLong_Type, checked(tracer, "checked_add", {tensor, right}));
    case Computation::Multiply:
      return number(&PyLong_Type, checked(tracer, "checked_mul", {tensor, right}));
    case Computation::Subtract:
      if (!swapped) return number(&PyLong_Type, checked(tracer, "checked_sub", {tensor, right}));
      return number(&PyLong_Type, checked(tracer, "checked_add",
                                          {checked(tracer, "checked_mul", {tensor, Scalar(int64_t{-1})}), right}));
    case Computation::FloorDivide:
    case Computation::Remainder:
      // By a number above zero neither can fail.
      if (swapped || !b.constant || b.constant->as_int() <= 0) refuse("division");
      return number(&PyLong_Type,
                    add(tracer, computation == Computation::Remainder ? "remainder" : "floor_divide", {tensor, right}));
    default:
      refuse("division");
  }
}

ValuePtr float_arithmetic(Tracer& tracer, Computation computation, const Side& a, const Side& b) {
  Operand left = as_dtype(tracer, a, DType::float64), right = as_dtype(tracer, b, DType::float64);
  bool swapped = !is_tensor(tracer, left);
  if (swapped) std::swap(left, right);
  ValueRef tensor = std::get<ValueRef>(left);
  switch (computation) {
    case Computation::Add:
      return number(&PyFloat_Type, add(tracer, "add", {tensor, right, one()}));
    case Computation::Multiply:
      return number(&PyFloat_Type, add(tracer, "mul", {tensor, right}));
    case Computation::Subtract:
      if (!swapped) return number(&PyFloat_Type, add(tracer, "sub", {tensor, right, one()}));
      return number(&PyFloat_Type, add(tracer, "add", {add(tracer, "neg", {tensor}), right, one()}));
    case Computation::TrueDivide:
      // Python raises at zero.
      if (swapped || !b.constant || is_zero(b)) refuse("division");
      return number(&PyFloat_Type, add(tracer, "div", {tensor, right}));
    default:
      refuse("division");
  }
}

ValuePtr arithmetic(Tracer& tracer, Computation computation, const Side& a, const Side& b) {
  bool with_float = a.is(&PyFloat_Type) || b.is(&PyFloat_Type);
  return with_float ? float_arithmetic(tracer, computation, a, b) : whole_arithmetic(tracer, computation, a, b);
}

ValuePtr comparison(Tracer& tracer, Computation computation, const Side& a, const Side& b) {
  struct Row {
    Computation computation;
    const char* op;
    const char* mirrored;
  };
  static constexpr Row kRows[] = {
      {Computation::Less, "lt", "gt"},    {Computation::LessEqual, "le", "ge"},
      {Computation::Equal, "eq", "eq"},   {Computation::NotEqual, "ne", "ne"},
      {Computation::Greater, "gt", "lt"}, {Computation::GreaterEqual, "ge", "le"},
  };
  // Python compares a whole number with a float exactly, whatever their size.
  bool with_float = a.is(&PyFloat_Type) || b.is(&PyFloat_Type);
  if (with_float && !(is_exact_as_float(a) && is_exact_as_float(b))) refuse("comparison with a number of another type");
  DType dtype = with_float ? DType::float64 : DType::int64;
  Operand left = as_dtype(tracer, a, dtype), right = as_dtype(tracer, b, dtype);
  bool swapped = !is_tensor(tracer, left);
  if (swapped) std::swap(left, right);
  const Row* row = std::ranges::find(kRows, computation, &Row::computation);
  return number(&PyBool_Type, add(tracer, swapped ? row->mirrored : row->op, {left, right}));
}

ValuePtr unary(Tracer& tracer, Computation computation, const ValuePtr& value) {
  auto* own = as<NumberValue>(value);
  bool is_float = own->type == &PyFloat_Type;
  switch (computation) {
    case Computation::Positive:
      return own->type == &PyBool_Type ? number(&PyLong_Type, cast(tracer, own->ref, DType::int64)) : value;
    case Computation::Negative:
      if (is_float) return number(&PyFloat_Type, add(tracer, "neg", {own->ref}));
      return number(&PyLong_Type,
                    checked(tracer, "checked_mul", {cast(tracer, own->ref, DType::int64), Scalar(int64_t{-1})}));
    case Computation::Absolute:
      if (is_float) return number(&PyFloat_Type, add(tracer, "abs", {own->ref}));
      refuse("abs()");
    case Computation::Int:
      if (is_float) refuse("int()");
      return own->type == &PyLong_Type ? value : number(&PyLong_Type, cast(tracer, own->ref, DType::int64));
    case Computation::Float:
      return is_float ? value : number(&PyFloat_Type, cast(tracer, own->ref, DType::float64));
    case Computation::Truth:
      if (own->type == &PyBool_Type) return value;
      return number(&PyBool_Type, add(tracer, "ne", {own->ref, Scalar(int64_t{0})}));
    case Computation::Not:
      return number(&PyBool_Type, own->type == &PyBool_Type ? add(tracer, "logical_not", {own->ref})
                                                            : add(tracer, "eq", {own->ref, Scalar(int64_t{0})}));
    default:
      refuse(computation_name(computation));
  }
}

// Its only element, whatever happens to the tensor afterwards.
ValuePtr taken_out(Tracer& tracer, ValueRef ref) {
  const TensorSpec& spec = tracer.graph().info(ref).spec;
  PyTypeObject* type = number_type(spec.dtype);
  bool needs_grad = spec.requires_grad;
  if (needs_grad) ref = add(tracer, "detach", {ref});
  if (spec.rank() > 0) ref = add(tracer, "reshape", {ref, DimVec()});
  DType dtype = number_dtype(type);
  return number(type, spec.dtype == dtype ? add(tracer, "clone", {ref}) : add(tracer, "cast", {ref, dtype}));
}

ValuePtr nested(Tracer& tracer, ValueRef ref) {
  const TensorSpec spec = tracer.graph().info(ref).spec;
  if (spec.rank() == 0) return taken_out(tracer, ref);
  std::vector<ValuePtr> items;
  for (int64_t i = 0; i < spec.sizes[0].value(); ++i)
    items.push_back(nested(tracer, add(tracer, "select", {ref, Scalar(int64_t{0}), Scalar(i)})));
  return make_value<SequenceValue>(true, std::move(items));
}

}  // namespace

ValuePtr number_of(Tracer& tracer, TensorValue* tensor) {
  tracer.values().guard_tensor(tensor);
  if (!known_equal(tensor->spec.numel(), 1)) raise_here();
  return taken_out(tracer, tracer.builder().graph_value(tensor));
}

ValuePtr numbers_of(Tracer& tracer, TensorValue* tensor) {
  tracer.values().guard_tensor(tensor);
  specialise(tracer, tensor->spec);
  if (tensor->spec.numel().value() > kMostNumbers)
    graph_break(BreakReason::tensor_to_list, str_cat("tolist() of ", tensor->spec.str()));
  return nested(tracer, tracer.builder().graph_value(tensor));
}

namespace {

// Of whole numbers, by one that may be zero or below: the graph has no exact op for it, sizes have.
bool divides_by_unknown(Computation computation, const Side& a, const Side& b) {
  bool divides = computation == Computation::FloorDivide || computation == Computation::Remainder;
  return divides && a.is(&PyLong_Type) && b.is(&PyLong_Type) && !(b.constant && b.constant->as_int() > 0);
}

}  // namespace

ValuePtr computed_in_graph(Tracer& tracer, Computation computation, const std::vector<ValuePtr>& operands) {
  auto is_own = [](const ValuePtr& value) { return as<NumberValue>(value) != nullptr; };
  if (std::ranges::none_of(operands, is_own)) return nullptr;
  switch (computation) {
    case Computation::Add:
    case Computation::Subtract:
    case Computation::Multiply:
    case Computation::FloorDivide:
    case Computation::Remainder:
    case Computation::TrueDivide:
    case Computation::Less:
    case Computation::LessEqual:
    case Computation::Equal:
    case Computation::NotEqual:
    case Computation::Greater:
    case Computation::GreaterEqual:
      break;
    default:
      if (operands.size() != 1) refuse(computation_name(computation));
      return unary(tracer, computation, operands[0]);
  }
  const char* what = computation_name(computation);
  Side a = side_of(tracer, operands[0], what), b = side_of(tracer, operands[1], what);
  if (divides_by_unknown(computation, a, b))
    if (ValuePtr size = size_computed(tracer, computation, operands)) return size;
  bool compares = computation >= Computation::Less && computation <= Computation::GreaterEqual;
  return compares ? comparison(tracer, computation, a, b) : arithmetic(tracer, computation, a, b);
}

}  // namespace md
