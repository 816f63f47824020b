#include "frontends/numpy/promotion.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "base/error.h"
#include "frontends/numpy/library.h"
#include "frontends/numpy/objects.h"

namespace md::numpy {
namespace {

struct Ufunc {
  PyObject* object;  // never released
  ExactLoops loops;
};
// Filled under the GIL and never destroyed.
std::unordered_map<const OpRow*, Ufunc>& ufuncs() {
  static auto* all = new std::unordered_map<const OpRow*, Ufunc>;
  return *all;
}

using Casts = std::vector<std::optional<DType>>;

PyTypeObject* number_type(DTypeCategory category) {
  switch (category) {
    case DTypeCategory::Bool:
      return &PyBool_Type;
    case DTypeCategory::Integer:
      return &PyLong_Type;
    case DTypeCategory::Floating:
      return &PyFloat_Type;
    case DTypeCategory::Complex:
      break;
  }
  return &PyComplex_Type;
}

// What resolve_dtypes() takes for an operand: a dtype, or the class of a Python number. A bool is an element of dtype
// bool.
Ref type_of(const PromotionOperand& operand) {
  if (operand.kind == PromotionOperand::Kind::Tensor) return Ref::share(dtype_object(operand.dtype));
  if (operand.category == DTypeCategory::Bool) return Ref::share(dtype_object(DType::bool_));
  return Ref::share(reinterpret_cast<PyObject*>(number_type(operand.category)));
}

bool is_operand(const PromotionOperand& operand) { return operand.kind != PromotionOperand::Kind::Other; }

// The dtypes of the loop: of the operands, then of the results.
std::vector<DType> loop_of(const OpRow& row, const Ufunc& ufunc, std::span<const PromotionOperand> operands) {
  static PyObject* const kResolve = PyUnicode_InternFromString("resolve_dtypes");
  Ref results = check(PyObject_GetAttrString(ufunc.object, "nout"));
  Ref types = check(PyList_New(0));
  for (const PromotionOperand& operand : operands)
    if (is_operand(operand)) check_status(PyList_Append(types, type_of(operand)));
  for (long i = PyLong_AsLong(results); i > 0; --i) check_status(PyList_Append(types, Py_None));
  Ref resolved = Ref::steal(PyObject_CallMethodOneArg(ufunc.object, kResolve, check(PyList_AsTuple(types))));
  if (!resolved) {
    PyErr_Clear();
    raise_op(ErrorKind::Type, row.name, "NumPy has no loop for these dtypes");
  }
  std::vector<DType> loop;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(resolved.get()); ++i) {
    DType dtype = DType::float64;
    if (!dtype_of_descr(PyTuple_GET_ITEM(resolved.get(), i), dtype))
      raise_op(ErrorKind::Type, row.name, "a dtype of NumPy's loop is not supported");
    loop.push_back(dtype);
  }
  return loop;
}

// The second operand where it is a number that the trace knows, else null.
const Scalar* known_second(std::span<const PromotionOperand> operands) {
  if (operands.size() < 2 || operands[1].kind != PromotionOperand::Kind::Scalar) return nullptr;
  const Scalar* number = operands[1].number;
  return number == nullptr || number->is_symbolic() ? nullptr : number;
}

// Whether a row of ExactLoops::ByNumber computes what NumPy does.
bool is_exact_by_number(std::span<const PromotionOperand> operands, DType loop) {
  const Scalar* number = known_second(operands);
  if (number == nullptr || operands[0].kind != PromotionOperand::Kind::Tensor) return false;
  // Complex powers are products for some exponents, by the function that is called: squares and cubes always are.
  if (is_complex(loop)) return is_complex(operands[0].dtype) && (number->as_double() == 2 || number->as_double() == 3);
  // a ** 2 is the square of a, which bools have in int8.
  return operands[0].dtype != DType::bool_ && number->as_int() >= 0;
}

void check_loop(const OpRow& op, const Ufunc& ufunc, std::span<const PromotionOperand> operands, DType loop) {
  bool by_number = ufunc.loops == ExactLoops::ByNumber;
  if (ufunc.loops == ExactLoops::Same || is_floating(loop) || (is_complex(loop) && !by_number)) return;
  if (by_number && is_exact_by_number(operands, loop)) return;
  const char* numbers = is_complex(loop) ? "complex numbers" : "integers";
  raise_op(ErrorKind::Type, op.name, "of ", numbers, " computes otherwise here");
}

// Whether a float is rounded to an infinity only if it is one. NumPy warns of others where it casts them.
bool is_within_floats(DType dtype, double number) {
  const DTypeRow& floats = row(dtype);
  int exponent = 1 << (floats.exponent_bits - 1);
  double infinite = std::ldexp(1.0, exponent) - std::ldexp(1.0, exponent - floats.digits - 1);
  return dtype == DType::float64 || !std::isfinite(number) || std::abs(number) < infinite;
}

// Whether the dtype holds it, once it is truncated for integers, or rounded for floats.
bool is_within(DType dtype, const Scalar& number) {
  if (is_complex(dtype)) dtype = part_dtype(dtype);
  const DTypeRow& integers = row(dtype);
  if (integers.category == DTypeCategory::Floating) return is_within_floats(dtype, number.as_double());
  double limit = std::ldexp(1.0, integers.digits);
  if (number.is_float()) {
    double whole = std::trunc(number.as_double());
    return whole < limit && whole >= (integers.is_signed ? -limit : 0);
  }
  if (number.is_large()) return integers.digits == 64;
  if (integers.digits >= 63) return integers.is_signed || number.as_int() >= 0;
  int64_t most = int64_t{1} << integers.digits;
  return number.as_int() < most && number.as_int() >= (integers.is_signed ? -most : 0);
}

// NumPy raises for an int that the dtype does not hold, or compares it as it is; of a float it warns.
void check_number(const OpRow& op, const PromotionOperand& operand, DType dtype) {
  bool is_known = operand.number != nullptr && !operand.number->is_symbolic();
  // Conversions to halves raise no flags.
  bool fits_always = dtype == DType::int64 || is_complex(dtype) || (is_floating(dtype) && !is_half(dtype));
  if (is_known ? !is_within(dtype, *operand.number) : !fits_always)
    raise_op(ErrorKind::Type, op.name, "a number beside ", row(dtype).name);
}

// NumPy compares int64 with uint64 without a cast; kernels take one dtype.
void require_one_dtype(const OpRow& op, std::span<const DType> operands) {
  if (std::ranges::adjacent_find(operands, std::not_equal_to<>()) != operands.end())
    raise_op(ErrorKind::Type, op.name, "of int64 and uint64, which have no dtype in common");
}

Casts casts_to(const OpRow& op, std::span<const PromotionOperand> operands, const std::vector<DType>& loop) {
  Casts casts(operands.size());
  require_one_dtype(op, std::span(loop).first(static_cast<size_t>(std::ranges::count_if(operands, is_operand))));
  // Kernels take the dtype of a tensor; of numbers alone they would take the default dtype of ours.
  auto is_tensor = [](const PromotionOperand& operand) { return operand.kind == PromotionOperand::Kind::Tensor; };
  bool has_tensor = std::ranges::any_of(operands, is_tensor);
  size_t at = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const PromotionOperand& operand = operands[i];
    if (!is_operand(operand)) continue;
    DType dtype = loop[at++];
    if (is_tensor(operand)) {
      if (operand.dtype != dtype) casts[i] = dtype;
      continue;
    }
    check_number(op, operand, dtype);
    // Kernels take numbers for wide dtypes as they are; for narrow ones NumPy rounds them first.
    bool takes_number = has_tensor && op.schema.params[i].type == ParamType::Number && !is_half(dtype) &&
                        operand.category != DTypeCategory::Bool && operand.category != DTypeCategory::Complex;
    if (!takes_number) casts[i] = dtype;
  }
  return casts;
}

// Of a choice between elements, say: they are taken as they are.
bool are_of_one_dtype(std::span<const PromotionOperand> operands) {
  const DType* first = nullptr;
  return std::ranges::all_of(operands, [&](const PromotionOperand& operand) {
    if (!is_operand(operand)) return true;
    if (first == nullptr) first = &operand.dtype;
    return operand.kind == PromotionOperand::Kind::Tensor && operand.dtype == *first;
  });
}

}  // namespace

void add_ufunc(const OpRow& row, BorrowedRef ufunc, ExactLoops loops) {
  ufuncs().try_emplace(&row, Ufunc{Py_NewRef(ufunc.get()), loops});
}

Casts promote_arrays(const OpRow& row, std::span<const PromotionOperand> operands) {
  auto found = ufuncs().find(&row);
  if (found == ufuncs().end()) {
    if (row.promotion == Promotion::None || row.promotion == Promotion::Same || are_of_one_dtype(operands))
      return Casts(operands.size());
    raise_op(ErrorKind::Type, row.name, "NumPy has no ufunc for it");
  }
  std::vector<DType> loop = loop_of(row, found->second, operands);
  check_loop(row, found->second, operands, loop[0]);
  return casts_to(row, operands, loop);
}

Casts promote_scalars(const OpRow& row, std::span<const PromotionOperand> operands) {
  auto found = ufuncs().find(&row);
  if (found != ufuncs().end() && row.kind != OpKind::Compare &&
      md::row(loop_of(row, found->second, operands).back()).category == DTypeCategory::Integer)
    raise_op(ErrorKind::Type, row.name, "of integer scalars, which warns of overflows");
  return promote_arrays(row, operands);
}

bool may_store(DType from, DType to) {
  const DTypeRow &source = row(from), &target = row(to);
  if (source.category != target.category) return source.category < target.category;
  return source.category != DTypeCategory::Integer || !source.is_signed || target.is_signed;
}

bool may_store_number(DType dtype, const Scalar* number) {
  bool is_narrow = row(dtype).category == DTypeCategory::Integer && dtype != DType::int64;
  if (number == nullptr) return !is_narrow && !is_half(dtype);
  return row(dtype).category == DTypeCategory::Bool || is_within(dtype, *number);
}

}  // namespace md::numpy
