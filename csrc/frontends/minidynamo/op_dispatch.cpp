#include "frontends/minidynamo/op_dispatch.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "autograd/grad_history.h"
#include "base/inline_vector.h"
#include "cpython/errors.h"
#include "frontends/arg_binding.h"
#include "frontends/dtype_object.h"
#include "frontends/eager.h"
#include "frontends/foreign_tensors.h"
#include "frontends/in_place.h"
#include "frontends/minidynamo/generator_object.h"
#include "frontends/minidynamo/tensor_buffer.h"
#include "frontends/minidynamo/tensor_object.h"
#include "frontends/promotion.h"
#include "guards/return_types.h"
#include "guards/tensor_family.h"
#include "tensor/ops/checked_numbers.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

// The values of a call: self, positional, then keyword values.
class CallValues {
 public:
  CallValues(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names)
      : self_(self),
        args_(args),
        shift_(self == nullptr ? 0 : 1),
        positional_(static_cast<int>(arg_count) + shift_),
        kw_names_(kw_names) {}

  int positional_count() const { return positional_; }
  int count() const { return positional_ + (kw_names_ == nullptr ? 0 : static_cast<int>(PyTuple_GET_SIZE(kw_names_))); }
  BorrowedRef kw_names() const { return kw_names_; }
  BorrowedRef operator[](int i) const { return i < shift_ ? self_ : args_[i - shift_]; }

 private:
  PyObject* self_;
  PyObject* const* args_;
  int shift_;
  int positional_;
  PyObject* kw_names_;
};

void push_defaults(const OpRow& row, std::vector<Arg>& args) {
  for (size_t i = args.size(); i < row.schema.params.size(); ++i) args.push_back(*row.schema.params[i].default_value);
}

// Whether the positional values map one to one to the first parameters, and the others have defaults.
bool is_plain(const OpRow& row, const CallValues& values) {
  const Schema& schema = row.schema;
  int given = values.positional_count();
  if (values.kw_names() || given > schema.positional_count()) return false;
  if (row.has(kNeedsTensor) && given > 0 && !is_tensor(values[0])) return false;
  for (int i = 0; i < static_cast<int>(schema.params.size()); ++i) {
    const Param& param = schema.params[i];
    if (i < given ? param.variadic_ints : !param.default_value) return false;
  }
  return true;
}

// Python's complex numbers among the arguments of a call, which have become tensors: each gets the dtype that a number
// of its category promotes to.
class ComplexNumbers {
 public:
  void note(size_t arg, BorrowedRef value) {
    if (PyComplex_Check(value.get())) places_.push_back(arg);
  }

  void settle(const OpRow& row, std::span<Arg> args) const {
    for (size_t place : places_)
      if (Tensor* number = std::get_if<Tensor>(&args[place])) *number = in_dtype(*number, dtype_of(row, args, place));
  }

 private:
  bool is_number(size_t arg) const { return std::find(places_.begin(), places_.end(), arg) != places_.end(); }

  DType dtype_of(const OpRow& row, std::span<const Arg> args, size_t place) const {
    if (!row.schema.params[place].promotes || row.promotion == Promotion::None) return element_dtype(row, args);
    std::vector<PromotionOperand> operands;
    for (size_t i = 0; i < args.size(); ++i) {
      operands.push_back(promotion_operand(row.schema.params[i], args[i]));
      if (is_number(i)) operands.back() = {.kind = PromotionOperand::Kind::Scalar, .category = DTypeCategory::Complex};
    }
    refuse_complex_halves(row, operands);
    return common_dtype(operands).value_or(DType::complex64);
  }

  // What is written into a tensor has its dtype.
  static DType element_dtype(const OpRow& row, std::span<const Arg> args) {
    const Tensor* self = args.empty() ? nullptr : std::get_if<Tensor>(&args[0]);
    if (self == nullptr || !self->defined() || is_complex((*self)->dtype()))
      return self == nullptr || !self->defined() ? DType::complex128 : (*self)->dtype();
    raise_does_not_fit(std::string(python_name(row)), (*self)->dtype());
  }

  static Tensor in_dtype(const Tensor& number, DType dtype) {
    static const OpRow* const cast = find_op("cast");
    if (number->dtype() == dtype || !is_complex(dtype)) return number;
    Arg args[] = {number, dtype};
    return run_op(*cast, args).at(0);
  }

  InlineVector<size_t, 4> places_;
};

std::vector<Arg> plain_args(const OpRow& row, const CallValues& values) {
  std::vector<Arg> args;
  args.reserve(row.schema.params.size());
  ComplexNumbers complex;
  for (int i = 0; i < values.positional_count(); ++i) {
    args.push_back(arg_from_python(row, row.schema.params[i], values[i]));
    complex.note(args.size() - 1, values[i]);
  }
  push_defaults(row, args);
  complex.settle(row, args);
  return args;
}

Arg variadic_arg(const OpRow& row, const Param& param, const CallValues& values, int first, int count) {
  Ref tuple = check(PyTuple_New(count));
  for (int i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(values[first + i].get()));
  return arg_from_python(row, param, tuple);
}

std::vector<Arg> bound_args(const OpRow& row, const BoundCall& bound, const CallValues& values) {
  std::vector<Arg> args;
  args.reserve(row.schema.params.size());
  ComplexNumbers complex;
  for (size_t i = 0; i < row.schema.params.size(); ++i) {
    const Param& param = row.schema.params[i];
    int value = bound.value_of_param[i];
    if (value == BoundCall::kDefault) {
      args.push_back(*param.default_value);
    } else if (param.variadic_ints && bound.variadic_count > 0) {
      args.push_back(variadic_arg(row, param, values, value, bound.variadic_count));
    } else {
      args.push_back(arg_from_python(row, param, values[value]));
      complex.note(i, values[value]);
    }
  }
  complex.settle(row, args);
  return args;
}

struct PreparedCall {
  const OpRow* row;
  std::vector<Arg> args;
};

// If no overload accepts a tensor of another library, reports that as the error.
BoundOp bind_call_of(const OpRow& row, std::span<const ValueForm> forms, const CallValues& values) {
  try {
    return bind_overload(row, forms, values.kw_names());
  } catch (const Error&) {
    std::vector<PyObject*> objects;
    for (int i = 0; i < values.count(); ++i) objects.push_back(values[i].get());
    refuse_foreign_tensors(std::string(python_name(row)), objects);
    throw;
  }
}

PreparedCall prepare_as_given(const OpRow& row, const CallValues& values) {
  bool overloaded = overloads_of(row).size() > 1;
  if (!overloaded && is_plain(row, values)) return {&row, plain_args(row, values)};
  std::vector<ValueForm> forms;
  for (int i = 0; i < values.count(); ++i) forms.push_back(value_form(values[i]));
  BoundOp bound = bind_call_of(row, forms, values);
  return {bound.row, bound_args(*bound.row, bound.call, values)};
}

// torch's treatment of ints between 2 ** 63 and 2 ** 64: a float with floats, else the number modulo 2 ** 64.
class WideInts {
 public:
  WideInts(const OpRow& row, const CallValues& values) : row_(row) {
    for (int i = 0; i < values.count(); ++i) note_dtype(values[i]);
    for (int i = 0; i < values.count(); ++i) {
      held_.push_back(fitted(values[i]));
      objects_.push_back(held_.back().get());
    }
  }
  CallValues values(const CallValues& given) const {
    return CallValues(nullptr, objects_.data(), given.positional_count(), given.kw_names().get());
  }
  bool any() const { return any_; }

 private:
  void note_dtype(BorrowedRef value) {
    if (is_tensor(value)) {
      // A condition precedes the operands that it selects from.
      if (!has_tensor_ || dtype_ == DType::bool_) dtype_ = tensor_of(value)->dtype();
      has_tensor_ = true;
    } else if (std::optional<DType> dtype = dtype_from_python(value); dtype && !has_tensor_) {
      dtype_ = *dtype;
    }
  }

  Ref fitted(BorrowedRef value) {
    int overflow = 0;
    if (PyLong_CheckExact(value.get())) PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow <= 0) return Ref::share(value);
    uint64_t number = PyLong_AsUnsignedLongLong(value);
    if (number == static_cast<uint64_t>(-1) && PyErr_Occurred()) {
      PyErr_Clear();
      return Ref::share(value);
    }
    any_ = true;
    bool to_float = row_.promotion == Promotion::TrueDivide || is_inexact(dtype_);
    // Any non-zero value is True.
    bool to_truth = row_.pointwise < 0 && dtype_ == DType::bool_;
    if (to_float || to_truth) return check(PyFloat_FromDouble(static_cast<double>(number)));
    bool is_plain = dtype_ != DType::bool_ && row_.pointwise >= 0 && !checked_operand(row_.pointwise, 1, dtype_);
    bool wraps = dtype_ == DType::uint64 || (has_tensor_ && is_plain);
    if (!wraps) raise_does_not_fit(std::string(python_name(row_)), dtype_);
    return check(PyLong_FromLongLong(static_cast<int64_t>(number)));
  }

  const OpRow& row_;
  DType dtype_ = DType::int64;
  bool has_tensor_ = false, any_ = false;
  std::vector<Ref> held_;
  std::vector<PyObject*> objects_;
};

PreparedCall prepare(const OpRow& row, const CallValues& values) {
  try {
    return prepare_as_given(row, values);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Overflow) throw;
    WideInts wide(row, values);
    if (!wide.any()) throw;
    return prepare_as_given(row, wide.values(values));
  }
}

Ref wrap_tuple(std::vector<Tensor>& results) {
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t i = 0; i < results.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_tensor(std::move(results[i])).release());
  }
  return tuple;
}

// Whether the result is the op's first argument itself (contiguous), unchanged.
bool is_first_argument(const OpRow& row, const Tensor& result, BorrowedRef first) {
  if (!first || !is_tensor(first)) return false;
  const Tensor& tensor = tensor_of(first);
  if (is_same(tensor, result)) return true;
  return row.is_argument(tensor.spec(), result.spec()) && result->kind() == TensorKind::Real &&
         result->data() == tensor->data();
}

// A created tensor that requires grad is a leaf, since nothing was computed.
bool makes_leaves(const OpRow& row) { return row.kind == OpKind::Creation || row.kind == OpKind::Random; }

PyObject* wrap_call(const OpRow& row, BorrowedRef first, std::vector<Tensor> results) {
  if (results.size() == 1 && is_first_argument(row, results[0], first)) return Py_NewRef(first.get());
  Ref wrapped = wrap_results(row, std::move(results));
  if (makes_leaves(row)) as_tensor_object(wrapped)->user_leaf = tensor_of(wrapped).requires_grad();
  return wrapped.release();
}

bool is_numpy_array(BorrowedRef value) { return std::strcmp(value.type()->tp_name, "numpy.ndarray") == 0; }

bool is_number(BorrowedRef value) {
  PyNumberMethods* methods = value.type()->tp_as_number;
  bool number_like = methods != nullptr && (methods->nb_index != nullptr || methods->nb_float != nullptr);
  return number_like && !PySequence_Check(value.get());
}

bool is_complex_number(const OpRow& row, const Param& param, BorrowedRef value) {
  return PyComplex_Check(value.get()) && takes_complex_number(row, param);
}

// A tensor, a number or a NumPy array; returns false if the operator is not ours.
bool read_operand(const OpRow& row, const Param& param, BorrowedRef value, Arg& out) {
  bool takes_numbers = param.type == ParamType::Number;
  if (value.type() == &tensor_type) {
    out = tensor_of(value);
  } else if (takes_numbers && PyFloat_CheckExact(value.get())) {
    out = Scalar(PyFloat_AS_DOUBLE(value.get()));
  } else if (is_numpy_array(value)) {
    bool writable = false;
    out = tensor_over_buffer(value, row.name.c_str(), &writable);
  } else if (is_foreign_tensor(value)) {
    raise_foreign_tensor(std::string(python_name(row)), value);
  } else if (is_tensor(value) || (takes_numbers && is_number(value)) || is_complex_number(row, param, value)) {
    out = arg_from_python(row, param, value);
  } else {
    return false;
  }
  return true;
}

// Of an operator.
void settle_complex_numbers(const OpRow& row, BorrowedRef a, BorrowedRef b, std::span<Arg> args) {
  if (!PyComplex_Check(a.get()) && !PyComplex_Check(b.get())) return;
  ComplexNumbers complex;
  complex.note(0, a);
  complex.note(1, b);
  complex.settle(row, args);
}

// A built-in number that fits; anything else is left to the general conversion, which knows all types and messages.
std::optional<Scalar> plain_number(PyObject* value) {
  if (PyFloat_CheckExact(value)) return Scalar(PyFloat_AS_DOUBLE(value));
  if (!PyLong_CheckExact(value)) return std::nullopt;
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) return std::nullopt;
  return Scalar(static_cast<int64_t>(number));
}

bool takes_number(const OpRow& row, size_t param) {
  const std::vector<Param>& params = row.schema.params;
  return param < params.size() && params[param].type == ParamType::Number;
}

// Calls that need no conversion and that apply_fast_path supports, else undefined.
Tensor plain_result(const OpRow& row, PyObject* a) {
  if (row.pointwise < 0 || Py_TYPE(a) != &tensor_type) return {};
  return apply_fast_path(row, tensor_of(a));
}

Tensor plain_result(const OpRow& row, PyObject* a, PyObject* b) {
  if (row.pointwise < 0) return {};
  if (Py_TYPE(a) == &tensor_type) {
    if (Py_TYPE(b) == &tensor_type) return apply_fast_path(row, tensor_of(a), tensor_of(b));
    std::optional<Scalar> number = takes_number(row, 1) ? plain_number(b) : std::nullopt;
    return number ? apply_fast_path(row, tensor_of(a), *number) : Tensor();
  }
  if (Py_TYPE(b) != &tensor_type || !takes_number(row, 0)) return {};
  std::optional<Scalar> number = plain_number(a);
  return number ? apply_fast_path(row, *number, tensor_of(b)) : Tensor();
}

// Only positional values. A callable stands for the first of its overloads, which is tried first.
Tensor plain_result(const OpRow& row, const CallValues& values) {
  if (values.kw_names()) return {};
  if (values.positional_count() == 1) return plain_result(row, values[0].get());
  if (values.positional_count() == 2) return plain_result(row, values[0].get(), values[1].get());
  return {};
}

// Operators have few parameters, so their arguments need no heap.
constexpr size_t kMostOperatorParams = 4;

}  // namespace

Ref wrap_results(const OpRow& row, std::vector<Tensor> results) {
  bool one = row.schema.returns.size() == 1 && row.schema.returns[0] == ParamType::Tensor;
  if (one) return wrap_tensor(std::move(results.at(0)));
  Ref tuple = wrap_tuple(results);
  PyTypeObject* named = row.schema.returns.size() > 1 ? return_type_of(row) : nullptr;
  return named == nullptr ? tuple : make_returned(named, tuple.get());
}

void require_no_leaf_write(BorrowedRef self) {
  if (!is_tensor(self) || !tensor_modes().grad_enabled || !tensor_of(self).requires_grad()) return;
  bool is_real = tensor_of(self)->kind() == TensorKind::Real;
  if (is_real ? !is_leaf(tensor_of(self)) : !as_tensor_object(self.get())->user_leaf) return;
  raise(ErrorKind::Runtime, "a leaf Variable that requires grad is being used in an in-place operation.");
}

namespace {

void warn_of_resize(const TensorSpec& old, const TensorSpec& wanted) {
  std::string text = str_cat(
      "An output with one or more elements was resized since it had shape ", str(old.sizes.span()),
      ", which does not match the required output shape ", str(wanted.sizes.span()),
      ". This behavior is deprecated, and in a future release outputs will not be resized unless they have zero "
      "elements.");
  check_status(PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1));
}

// The index of a keyword's value; -1 if it is absent.
Py_ssize_t find_keyword(const char* name, Py_ssize_t arg_count, PyObject* kw_names) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kw_names); ++i) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kw_names, i), name) == 0) return arg_count + i;
  }
  return -1;
}

// A call with one keyword removed.
struct ShorterCall {
  ShorterCall(PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names, Py_ssize_t left_out)
      : values(args, args + arg_count + PyTuple_GET_SIZE(kw_names)),
        names(check(PyTuple_New(PyTuple_GET_SIZE(kw_names) - 1))) {
    values.erase(values.begin() + left_out);
    for (Py_ssize_t i = 0, to = 0; i < PyTuple_GET_SIZE(kw_names); ++i) {
      if (i != left_out - arg_count) PyTuple_SET_ITEM(names.get(), to++, Py_NewRef(PyTuple_GET_ITEM(kw_names, i)));
    }
  }
  std::vector<PyObject*> values;
  Ref names;
};

std::vector<PyObject*> out_objects(const OpRow& row, BorrowedRef out) {
  std::vector<PyObject*> objects;
  if (PyTuple_Check(out.get()) || PyList_Check(out.get())) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(out.get()); ++i) {
      objects.push_back(PySequence_Fast_GET_ITEM(out.get(), i));
    }
  } else {
    objects.push_back(out.get());
  }
  for (PyObject* object : objects) {
    if (is_tensor(object)) continue;
    raise_no_tensor(std::string(python_name(row)), "out", object);
  }
  return objects;
}

// The call without `out`.
Ref dispatch_with_out(const OpRow& row, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names,
                      Py_ssize_t out_at) {
  BorrowedRef out = args[out_at];
  ShorterCall without(args, arg_count, kw_names, out_at);
  PreparedCall call = prepare(row, CallValues(nullptr, without.values.data(), arg_count, without.names));
  if (!call.row->takes_out()) raise(ErrorKind::Type, python_name(row), "() got an unexpected keyword argument 'out'");
  if (out.get() == Py_None) return wrap_results(*call.row, apply_op(*call.row, call.args));
  std::vector<PyObject*> objects = out_objects(*call.row, out);
  std::vector<Tensor> targets;
  for (PyObject* object : objects) targets.push_back(tensor_of(object));
  std::vector<Tensor> written = apply_out(*call.row, call.args, targets, warn_of_resize);
  for (size_t i = 0; i < objects.size(); ++i) replace_tensor(objects[i], written[i]);
  PyTypeObject* named = objects.size() > 1 ? return_type_of(*call.row) : nullptr;
  return named == nullptr ? Ref::share(out) : make_returned(named, check(PySequence_Tuple(out)).get());
}

// A function call without `generator`, which provides the numbers.
PyObject* dispatch_with_generator(const OpRow& row, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names,
                                  Py_ssize_t generator_at) {
  BorrowedRef generator = args[generator_at];
  ShorterCall without(args, arg_count, kw_names, generator_at);
  auto dispatched = [&] { return dispatch(row, nullptr, without.values.data(), arg_count, without.names); };
  if (generator.get() == Py_None) return dispatched();
  RandomGeneratorScope scope(generator_of(generator, python_name(row)));
  return dispatched();
}

// Where a keyword is that changes nothing about a new tensor: layout=strided, pin_memory=False; -1 if there is none.
Py_ssize_t find_neutral_keyword(PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  for (const NeutralKeyword& keyword : default_family().neutral_keywords()) {
    Py_ssize_t at = find_keyword(keyword.name, arg_count, kw_names);
    if (at >= 0 && (args[at] == keyword.value || args[at] == Py_None)) return at;
  }
  return -1;
}

// x.f_(...), where x is the first value.
Ref dispatch_write(const OpRow& row, const CallValues& values) {
  if (values.positional_count() == 0 || !is_tensor(values[0])) {
    raise(ErrorKind::Type, in_place_name(row), "() needs a Tensor as its first argument");
  }
  require_no_leaf_write(values[0]);
  PreparedCall call = prepare(row, values);
  if (!(call.row->variants & kInPlace)) {
    raise(ErrorKind::Type, in_place_name(row), "() received an invalid combination of arguments");
  }
  apply_in_place(*call.row, call.args);
  return Ref::share(values[0]);
}

}  // namespace

PyObject* dispatch_in_place(const OpRow& row, PyObject* self, PyObject* const* args, Py_ssize_t arg_count,
                            PyObject* kw_names) noexcept {
  try {
    return dispatch_write(row, CallValues(self, args, arg_count, kw_names)).release();
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

PyObject* dispatch_in_place_operator(const OpRow& row, PyObject* a, PyObject* b) noexcept {
  try {
    const std::vector<Param>& params = row.schema.params;
    MD_ASSERT(params.size() >= 2 && params.size() <= kMostOperatorParams, row.name);
    Arg args[kMostOperatorParams];
    bool ours = is_tensor(a) && read_operand(row, params[0], a, args[0]) && read_operand(row, params[1], b, args[1]);
    if (!ours) return Py_NewRef(Py_NotImplemented);
    require_no_leaf_write(a);
    for (size_t i = 2; i < params.size(); ++i) args[i] = *params[i].default_value;
    settle_complex_numbers(row, a, b, {args, params.size()});
    apply_in_place(row, {args, params.size()});
    return Py_NewRef(a);
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

PyObject* dispatch(const OpRow& row, PyObject* self, PyObject* const* args, Py_ssize_t arg_count,
                   PyObject* kw_names) noexcept {
  try {
    if (kw_names != nullptr && row.takes_generator()) {
      Py_ssize_t given = find_keyword("generator", arg_count, kw_names);
      if (given >= 0) return dispatch_with_generator(row, args, arg_count, kw_names, given);
    }
    if (kw_names != nullptr && self == nullptr && row.takes_out()) {
      Py_ssize_t out = find_keyword("out", arg_count, kw_names);
      if (out >= 0) return dispatch_with_out(row, args, arg_count, kw_names, out).release();
    }
    if (kw_names != nullptr && makes_leaves(row)) {
      Py_ssize_t neutral = find_neutral_keyword(args, arg_count, kw_names);
      if (neutral >= 0) {
        ShorterCall without(args, arg_count, kw_names, neutral);
        return dispatch(row, self, without.values.data(), arg_count, without.names);
      }
    }
    CallValues values(self, args, arg_count, kw_names);
    if (Tensor result = plain_result(row, values); result.defined()) return wrap_tensor(std::move(result)).release();
    PreparedCall call = prepare(row, values);
    BorrowedRef first = values.positional_count() > 0 ? values[0] : BorrowedRef();
    return wrap_call(*call.row, first, apply_op(*call.row, call.args));
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

PyObject* dispatch_operator(const OpRow& row, PyObject* a, PyObject* b) noexcept {
  try {
    if (Tensor result = plain_result(row, a, b); result.defined()) return wrap_tensor(std::move(result)).release();
    const std::vector<Param>& params = row.schema.params;
    MD_ASSERT(params.size() >= 2 && params.size() <= kMostOperatorParams, row.name);
    Arg args[kMostOperatorParams];
    bool ours = read_operand(row, params[0], a, args[0]) && read_operand(row, params[1], b, args[1]);
    if (!ours) return Py_NewRef(Py_NotImplemented);
    for (size_t i = 2; i < params.size(); ++i) args[i] = *params[i].default_value;
    settle_complex_numbers(row, a, b, {args, params.size()});
    return wrap_results(row, apply_op(row, {args, params.size()})).release();
  } catch (const Error& error) {
    PyObject* operands[] = {a, b};
    if (error.kind() == ErrorKind::Overflow) return dispatch(row, nullptr, operands, 2, nullptr);
    set_error_from_current_exception();
    return nullptr;
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

PyObject* dispatch_operator(const OpRow& row, PyObject* a) noexcept { return dispatch(row, a, nullptr, 0, nullptr); }

}  // namespace md
